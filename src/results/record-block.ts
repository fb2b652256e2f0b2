/** The records of one chunk, copied out of the batches so that they can be joined, written and read twice. */
import type { Batch } from '../csv/batch.js';

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
  /** The next records, in source order; fewer only where the source ends. */
  take(count: number): Promise<RecordBlock>;
  close(): Promise<void>;
}

/** Cuts a stream of batches into blocks of any number of records. */
export function createBlockReader(batches: AsyncGenerator<Batch>): BlockReader {
  let batch: Batch | undefined;
  let next = 0;

  return {
    take: async (count) => {
      const pieces: RecordBlock[] = [];
      let missing = count;
      while (missing > 0) {
        if (batch === undefined || next === batch.count) {
          const read = await batches.next();
          if (read.done) break;
          batch = read.value;
          next = 0;
          continue;
        }
        const taken = Math.min(missing, batch.count - next);
        pieces.push(copyOut(batch, next, taken));
        next += taken;
        missing -= taken;
      }
      return concatenate(pieces);
    },
    close: async () => {
      await batches.return(undefined);
    },
  };
}

function copyOut(batch: Batch, from: number, count: number): RecordBlock {
  const { fields } = batch;
  const first = batch.starts[from]!;
  const last = batch.ends[(from + count) * fields - 1]!;
  return {
    bytes: new Uint8Array(batch.bytes.subarray(first, last)),
    count,
    fields,
    starts: batch.starts.slice(from, from + count).map((at) => at - first),
    ends: batch.ends.slice(from * fields, (from + count) * fields).map((at) => at - first),
    numbers: Int32Array.from({ length: count }, (_, i) => batch.firstRecord + from + i),
  };
}

function concatenate(pieces: readonly RecordBlock[]): RecordBlock {
  if (pieces.length === 1) return pieces[0]!;
  const count = pieces.reduce((sum, piece) => sum + piece.count, 0);
  const fields = pieces[0]?.fields ?? 0;
  const block = {
    bytes: new Uint8Array(pieces.reduce((sum, piece) => sum + piece.bytes.length, 0)),
    count,
    fields,
    starts: new Int32Array(count),
    ends: new Int32Array(count * fields),
    numbers: new Int32Array(count),
  };
  let byte = 0;
  let record = 0;
  for (const piece of pieces) {
    block.bytes.set(piece.bytes, byte);
    block.numbers.set(piece.numbers, record);
    for (let i = 0; i < piece.count; i++) block.starts[record + i] = piece.starts[i]! + byte;
    const end = record * fields;
    for (let i = 0; i < piece.ends.length; i++) block.ends[end + i] = piece.ends[i]! + byte;
    byte += piece.bytes.length;
    record += piece.count;
  }
  return block;
}
