/**
 * The records of a large chunk, read from the source each time they are needed: a block of them would hold all columns of
 * the source, also those that are not sent.
 */
import type { ChunkRow } from '../../checkpoint/checkpoint.js';
import { fieldEnd, fieldStart } from '../../csv/table.js';
import type { SentBlock, StreamedRecords } from '../../results/join-windows.js';
import type { RunContext } from '../../run-context.js';
import type { RecordBlock } from '../../source/record-block.js';
import { giveBack, takeBuffer, takeNumbers } from '../../streams/large-buffers.js';
import { checkSameRecords, recordsOfChunk } from '../read-source.js';
import { numbersInSource, type ReadChunkNeeds, sentFields } from './chunk-content.js';

/** @param chunk a large one: see `isStreamed`. */
export async function streamChunk(run: ReadChunkNeeds, chunk: ChunkRow): Promise<StreamedRecords> {
  const numbers = await numbersInSource(run, chunk);
  return {
    numbers,
    windows: async function* () {
      let count = 0;
      for await (const batch of recordsOfChunk(run, chunk)) {
        const window = windowOf(batch);
        checkNextRecords(run, chunk, numbers, count, window);
        yield window;
        count += window.count;
      }
      checkNextRecords(run, chunk, numbers, count);
    },
    sent: () => sentFieldsOf(run, chunk, numbers, recordsOfChunk(run, chunk)),
  };
}

/**
 * The sent fields of a chunk's records.
 * @param numbers of its records.
 * @param windows its records with all fields.
 * @throws SourceError when the windows hold other records.
 */
export async function sentFieldsOf(
  run: ReadChunkNeeds,
  chunk: ChunkRow,
  numbers: Int32Array,
  windows: AsyncIterable<RecordBlock>,
): Promise<SentBlock> {
  const wanted = sentFields(run);
  const { length: count } = numbers;
  const { length: fields } = wanted;
  const starts = takeNumbers(count);
  const ends = takeNumbers(count * fields);
  let bytes = takeBuffer(chunk.bytes);
  let length = 0;
  let row = 0;
  for await (const window of windows) {
    checkNextRecords(run, chunk, numbers, row, window);
    const { buffer, byteOffset, byteLength } = window.bytes;
    const from = Buffer.from(buffer, byteOffset, byteLength);
    for (let inWindow = 0; inWindow < window.count; inWindow++, row++) {
      starts[row] = length;
      for (const [field, { sourceField }] of wanted.entries()) {
        const [start, end] = [
          fieldStart(window, inWindow, sourceField),
          fieldEnd(window, inWindow, sourceField),
        ];
        if (length + end - start > bytes.length) bytes = enlarged(bytes, length, length + end - start);
        from.copy(bytes, length, start, end);
        length += end - start;
        ends[row * fields + field] = length;
        // Skips the byte of a delimiter, which is never read.
        length += 1;
      }
    }
  }
  checkNextRecords(run, chunk, numbers, row);
  return { bytes: bytes.subarray(0, length), count, fields, starts, ends, numbers, isSentOnly: true };
}

function enlarged(bytes: Buffer, used: number, needed: number): Buffer {
  const larger = takeBuffer(Math.max(needed, Math.ceil(bytes.length * 1.25)));
  bytes.copy(larger, 0, 0, used);
  giveBack(bytes);
  return larger;
}

/** Shares the bytes, as a new object: `TableMemory` recognizes a table that it holds by this object. */
function windowOf({ bytes, count, fields, starts, ends, numbers }: RecordBlock): RecordBlock {
  return { bytes: bytes.subarray(), count, fields, starts, ends, numbers: numbers.subarray(0, count) };
}

/**
 * Checks the next records of a chunk.
 * @param from how many records of the chunk came before them.
 * @param next the records that were read; left out at the end of the chunk.
 * @throws SourceError when they are not the next records of the chunk.
 */
export function checkNextRecords(
  run: Pick<RunContext, 'source'>,
  chunk: ChunkRow,
  numbers: Int32Array,
  from: number,
  next?: RecordBlock,
): void {
  const rest = numbers.subarray(from, next === undefined ? numbers.length : from + next.count);
  if (rest.length === 0 && (next ?? NO_RECORDS).count === 0) return;
  const expected = { firstRecord: rest[0] ?? 0, lastRecord: rest.at(-1) ?? 0, records: rest.length };
  checkSameRecords(run, { ...chunk, ...expected }, next ?? NO_RECORDS);
}

const NO_RECORDS = { count: 0, numbers: new Int32Array(0) };
