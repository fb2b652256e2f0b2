/** The records of one chunk, copied out of the batches so that they can be joined, written and read twice. */
import type { Batch } from '../csv/batch.js';
import { addShifted } from '../csv/kernel/add-shifted.js';
import { grown } from './growing-array.js';

export interface RecordBlock {
  readonly bytes: Uint8Array;
  readonly count: number;
  readonly fields: number;
  /** [count] */
  readonly starts: Int32Array;
  /** [count * fields], as in a Batch. */
  readonly ends: Int32Array;
  /** [count] record numbers in the source, ascending. */
  readonly numbers: Int32Array;
}

export interface BlockReader {
  /** The next records, in source order; fewer only where the source ends. Valid until the next call. */
  take(count: number): Promise<RecordBlock>;
  /** Passes over the records before this number. */
  skipTo(record: number): Promise<void>;
  close(): Promise<void>;
}

/** Cuts a stream of batches into blocks of any number of records; its arrays grow to the largest block and stay. */
export function createBlockReader(batches: AsyncGenerator<Batch>): BlockReader {
  const block = createGrowingBlock();
  let batch: Batch | undefined;
  let next = 0;

  return {
    take: async (count) => {
      block.clear();
      for (let missing = count; missing > 0; ) {
        if (batch === undefined || next === batch.count) {
          const read = await batches.next();
          if (read.done) break;
          batch = read.value;
          next = 0;
          continue;
        }
        const taken = Math.min(missing, batch.count - next);
        block.append(batch, next, taken);
        next += taken;
        missing -= taken;
      }
      return block.view();
    },
    skipTo: async (record) => {
      while (batch === undefined || batch.firstRecord + batch.count <= record) {
        const read = await batches.next();
        if (read.done) return;
        batch = read.value;
        next = 0;
      }
      next = Math.max(next, record - batch.firstRecord);
    },
    close: async () => {
      await batches.return(undefined);
    },
  };
}

function createGrowingBlock() {
  let bytes = new Uint8Array(256 * 1024);
  let starts = new Int32Array(1024);
  let ends = new Int32Array(8192);
  let numbers = new Int32Array(1024);
  let length = 0;
  let count = 0;
  let fields = 0;

  return {
    clear: () => {
      length = 0;
      count = 0;
    },
    append: (batch: Batch, from: number, taken: number) => {
      fields = batch.fields;
      const first = batch.starts[from]!;
      const last = batch.ends[(from + taken) * fields - 1]!;
      bytes = grown(bytes, length + last - first);
      starts = grown(starts, count + taken);
      numbers = grown(numbers, count + taken);
      ends = grown(ends, (count + taken) * fields);
      bytes.set(batch.bytes.subarray(first, last), length);
      const shift = length - first;
      addShifted(starts, count, batch.starts.subarray(from, from + taken), shift);
      addShifted(ends, count * fields, batch.ends.subarray(from * fields, (from + taken) * fields), shift);
      fillNumbers(numbers.subarray(count, count + taken), batch.firstRecord + from);
      length += last - first;
      count += taken;
    },
    view: (): RecordBlock => ({
      bytes: bytes.subarray(0, length),
      count,
      fields,
      starts: starts.subarray(0, count),
      ends: ends.subarray(0, count * fields),
      numbers: numbers.subarray(0, count),
    }),
  };
}

/** Consecutive numbers. */
function fillNumbers(into: Int32Array, first: number): void {
  for (let i = 0; i < into.length; i++) into[i] = first + i;
}
