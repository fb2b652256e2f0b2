/** Copies the records of one chunk from the batches into a block, which can be read more than once. */
import { copyShifted, ensureCapacity, rowRange } from '../csv/kernel/table-memory.js';
import { type Batch, endOfFitting, hasGaps, indexFrom, recordBytes, type Table } from '../csv/table.js';
import { ConfigError } from '../errors.js';
import { giveBack, takeBuffer } from '../streams/large-buffers.js';
import type { Position } from '../types.js';

export interface RecordBlock extends Table {
  /** Record numbers in the source, ascending: `[count]`. */
  readonly numbers: Int32Array;
}

/** A block of the source's next records. */
export interface SourceBlock extends RecordBlock {
  /** Indexes of the records that are blank in all sent fields, ascending; empty if the batches have no `blank`. */
  readonly blank: readonly number[];
  /** The position just after the content of its last record; undefined in an empty block. */
  readonly end: Position | undefined;
  /** The position just after the content of a record. @param row its index. */
  endOf(row: number): Position;
}

/** The records `from` to `to` (exclusive) of a block, valid as long as the block is. */
export function sliceOfBlock(block: SourceBlock, from: number, to: number): SourceBlock {
  if (from === 0 && to === block.count) return block;
  return {
    ...rowRange(block, from, to),
    numbers: block.numbers.subarray(from, to),
    blank: block.blank.flatMap((row) => (row >= from && row < to ? [row - from] : [])),
    end: block.endOf(to - 1),
    endOf: (row) => block.endOf(from + row),
  };
}

interface BlockLimits {
  /** The most bytes of the records; the first record is taken whatever its size. */
  readonly maxBytes?: number;
  /** The last record that may be taken. */
  readonly upTo?: number;
  /** About how many bytes the records have, so that the block is allocated at once. */
  readonly expectedBytes?: number;
}

export interface BlockReader {
  /**
   * Takes the next `count` records in source order: fewer if the source ends or a limit is reached. The block is valid
   * until the next call.
   *
   * @throws ConfigError `MEMORY_LIMIT` when the records do not fit into a block.
   */
  take(count: number, limits?: BlockLimits): Promise<SourceBlock>;
  /** Skips the records before this number. */
  skipTo(record: number): Promise<void>;
  close(): Promise<void>;
}

/**
 * Cuts a stream of batches into blocks. Reuses its arrays, which grow to the size of the largest block. `close` does not
 * give them back, because the last block may be in use.
 */
export function createBlockReader(batches: AsyncGenerator<Batch>): BlockReader {
  const block = createGrowingBlock();
  let batch: Batch | undefined;
  let next = 0;

  return {
    take: async (count, limits = {}) => {
      const { maxBytes = Number.POSITIVE_INFINITY, upTo = Number.POSITIVE_INFINITY } = limits;
      block.clear(limits.expectedBytes);
      for (let missing = count; missing > 0; ) {
        if (batch === undefined || next === batch.count) {
          const read = await batches.next();
          if (read.done) break;
          batch = read.value;
          next = 0;
          continue;
        }
        const wanted = Math.min(indexFrom(batch.numbers, upTo + 1, batch.count), next + missing);
        if (wanted <= next) break;
        const within = endOfFitting(batch, next, wanted, maxBytes - block.length, recordBytes);
        const taken = Math.max(within - next, block.length === 0 ? 1 : 0);
        if (taken === 0) break;
        block.append(batch, next, taken);
        next += taken;
        missing -= taken;
      }
      return block.view();
    },
    skipTo: async (record) => {
      while (batch === undefined || batch.numbers[batch.count - 1]! < record) {
        const read = await batches.next();
        if (read.done) return;
        batch = read.value;
        next = 0;
      }
      next = Math.max(next, indexFrom(batch.numbers, record, batch.count));
    },
    close: async () => {
      await batches.return(undefined);
    },
  };
}

function createGrowingBlock() {
  let bytes: Uint8Array<ArrayBufferLike> = takeBuffer(FIRST_BYTES);
  let starts = new Int32Array(1024);
  let ends = new Int32Array(8192);
  let numbers = new Int32Array(1024);
  let length = 0;
  let count = 0;
  let fields = 0;
  let blank: number[] = [];
  /** The places of records in their files: up to `to` (exclusive), adding `base` to an offset in the block gives it. */
  let places: { to: number; readonly file: number; readonly base: number }[] = [];
  const place = (to: number, file: number, base: number): void => {
    const last = places.at(-1);
    if (last?.file === file && last.base === base) last.to = to;
    else places.push({ to, file, base });
  };
  const endOf = (row: number): Position => {
    const { file, base } = places.find(({ to }) => row < to)!;
    return { file, offset: base + ends[(row + 1) * fields - 1]! };
  };

  /** Copies records one by one, without what is between them. */
  const copyRecords = (batch: Batch, from: number, taken: number): void => {
    let at = length;
    for (let row = 0; row < taken; row++) {
      const start = batch.starts[from + row]!;
      const end = batch.ends[(from + row + 1) * fields - 1]!;
      const shift = at - start;
      starts[count + row] = at;
      for (let field = 0; field < fields; field++) {
        ends[(count + row) * fields + field] = batch.ends[(from + row) * fields + field]! + shift;
      }
      bytes.set(batch.bytes.subarray(start, end), at);
      at += end - start;
      place(count + row + 1, batch.file, batch.base - shift);
    }
  };

  return {
    /** Bytes of the records in the block. */
    get length() {
      return length;
    },
    clear: (expectedBytes = 0) => {
      length = 0;
      count = 0;
      blank = [];
      places = [];
      // Allocated at once: doubling step by step leaves memory behind, which the process keeps for long.
      if (expectedBytes <= bytes.length) return;
      giveBack(bytes);
      bytes = takeBuffer(Math.ceil(expectedBytes * SPARE_SHARE));
    },
    append: (batch: Batch, from: number, taken: number) => {
      fields = batch.fields;
      const size = recordBytes(batch, from, from + taken);
      if (length + size > MAX_BLOCK_BYTES) throw tooLarge(batch.numbers[from]!);
      if (length + size > bytes.length) {
        const larger = takeBuffer(Math.max(length + size, bytes.length * 2));
        larger.set(bytes.subarray(0, length));
        giveBack(bytes);
        bytes = larger;
      }
      starts = ensureCapacity(starts, count + taken);
      numbers = ensureCapacity(numbers, count + taken);
      ends = ensureCapacity(ends, (count + taken) * fields);
      numbers.set(batch.numbers.subarray(from, from + taken), count);
      if (hasGaps(batch, from, from + taken)) copyRecords(batch, from, taken);
      else {
        const first = batch.starts[from]!;
        bytes.set(batch.bytes.subarray(first, first + size), length);
        const shift = length - first;
        copyShifted(starts, count, batch.starts.subarray(from, from + taken), shift);
        copyShifted(ends, count * fields, batch.ends.subarray(from * fields, (from + taken) * fields), shift);
        place(count + taken, batch.file, batch.base - shift);
      }
      for (const row of batch.blank ?? []) {
        if (row >= from && row < from + taken) blank.push(count + row - from);
      }
      length += size;
      count += taken;
    },
    view: (): SourceBlock => ({
      bytes: bytes.subarray(0, length),
      count,
      fields,
      starts: starts.subarray(0, count),
      ends: ends.subarray(0, count * fields),
      numbers: numbers.subarray(0, count),
      blank,
      end: count === 0 ? undefined : endOf(count - 1),
      endOf,
    }),
  };
}

const FIRST_BYTES = 256 * 1024;
/** Room for a block that is a bit larger than the ones before. */
const SPARE_SHARE = 1.125;
/** Offsets in a block are signed 32-bit numbers. */
const MAX_BLOCK_BYTES = 2 ** 31 - 1;

function tooLarge(record: number): ConfigError {
  return new ConfigError(
    'MEMORY_LIMIT',
    `record ${record} of the source does not fit: with the records before it in its chunk, it has more than ${MAX_BLOCK_BYTES} bytes`,
    {
      hint: 'lower chunks.maxRecords or chunks.maxBytes and begin a new run, which pays again: foliopipe run --new',
      facts: { record },
    },
  );
}
