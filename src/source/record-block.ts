/** The records of one chunk, copied out of the batches so that they can be joined, written and read twice. */
import { type Batch, bytesBetween, endWithin } from '../csv/batch.js';
import { addShifted } from '../csv/kernel/table-memory.js';
import { ConfigError } from '../errors.js';

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
  /**
   * The next records, in source order; fewer only where the source ends, or where more than one would have more than
   * `maxBytes`. Valid until the next call.
   * @throws ConfigError `MEMORY_LIMIT` where so many records are more than a block can hold.
   */
  take(count: number, maxBytes?: number): Promise<RecordBlock>;
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
    take: async (count, maxBytes = Number.POSITIVE_INFINITY) => {
      block.clear();
      for (let missing = count; missing > 0; ) {
        if (batch === undefined || next === batch.count) {
          const read = await batches.next();
          if (read.done) break;
          batch = read.value;
          next = 0;
          continue;
        }
        const wanted = Math.min(batch.count, next + missing);
        const within = endWithin(batch, next, wanted, maxBytes - block.length);
        const taken = Math.max(within - next, block.length === 0 ? 1 : 0);
        if (taken === 0) break;
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
    /** Bytes in it. */
    get length() {
      return length;
    },
    clear: () => {
      length = 0;
      count = 0;
    },
    append: (batch: Batch, from: number, taken: number) => {
      fields = batch.fields;
      const first = batch.starts[from]!;
      const size = bytesBetween(batch, from, from + taken);
      if (length + size > MOST_BLOCK_BYTES) throw tooLarge(batch.firstRecord + from);
      bytes = grown(bytes, length + size);
      starts = grown(starts, count + taken);
      numbers = grown(numbers, count + taken);
      ends = grown(ends, (count + taken) * fields);
      bytes.set(batch.bytes.subarray(first, first + size), length);
      const shift = length - first;
      addShifted(starts, count, batch.starts.subarray(from, from + taken), shift);
      addShifted(ends, count * fields, batch.ends.subarray(from * fields, (from + taken) * fields), shift);
      fillNumbers(numbers.subarray(count, count + taken), batch.firstRecord + from);
      length += size;
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

/** Places in a block stand in arrays of 32 bits. */
const MOST_BLOCK_BYTES = 2 ** 31 - 1;

function tooLarge(record: number): ConfigError {
  return new ConfigError(
    'MEMORY_LIMIT',
    `record ${record} of the source: with the records of its chunk before it more than ${MOST_BLOCK_BYTES} bytes`,
    {
      hint: 'lower chunks.maxRecords or chunks.maxBytes for a run that begins with --new',
      facts: { record },
    },
  );
}

/** Consecutive numbers. */
function fillNumbers(into: Int32Array, first: number): void {
  for (let i = 0; i < into.length; i++) into[i] = first + i;
}

// Typed arrays that grow with what is put into them.

/** The same array, or a larger copy where it is too small. */
export function grown<T extends Uint8Array<ArrayBuffer> | Int32Array<ArrayBuffer>>(
  array: T,
  size: number,
): T {
  if (size <= array.length) return array;
  const larger = new (array.constructor as new (length: number) => T)(Math.max(size, array.length * 2));
  larger.set(array);
  return larger;
}
