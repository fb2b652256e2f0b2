/**
 * Says how a source differs from the one that a run has read, as far as the run's rows and files show: which file, when
 * it was written, and the first sent record that differs. Reads the source up to that record, for an error only.
 */
import { createHash } from 'node:crypto';
import type { CheckpointReader, ChunkRow, Run } from '../../checkpoint/checkpoint.js';
import { chunksInOrder } from '../../checkpoint/walk-run.js';
import type { Config } from '../../config/schema.js';
import { UploadKernel } from '../../csv/kernel/upload-kernel.js';
import { scanBuffer } from '../../csv/scan-records.js';
import type { Batch } from '../../csv/table.js';
import { FoliopipeError } from '../../errors.js';
import type { RunFiles } from '../../files/run-files.js';
import { formatBytes, formatCount } from '../../quantities.js';
import { lineAt } from '../../source/read-decoded.js';
import { pickRecords } from '../../source/read-records.js';
import { readChunkContent, rowsOfChunkFile } from '../../stages/chunk/chunk-content.js';
import { createUploadLayout } from '../../stages/chunk/cut-chunks.js';
import { type ReadPosition, recordsFrom, sendableRecordsFrom } from '../../stages/read-source.js';
import { stampTime } from '../../streams/file-identity.js';
import { showText } from '../../text.js';
import type { Source } from '../../types.js';

export interface DifferenceContext {
  readonly config: Config;
  readonly checkpoint: Pick<CheckpointReader, 'nextChunk' | 'pickedRecords'>;
  /** The files of the run. */
  readonly files: Pick<RunFiles, 'hasChunk' | 'chunkContent'>;
  readonly signal: AbortSignal;
}

/**
 * @param now the source that was found, whose content differs from the run's.
 * @returns lines for a message, each with a line feed before it.
 */
export async function differenceText(context: DifferenceContext, run: Run, now: Source): Promise<string> {
  const at = firstOtherFile(run.source, now);
  return `\n  ${fileText(run.source, now, at)}\n  ${await recordText(context, run, now, at)}`;
}

/** Index of the first file whose content differs, or that only one of the sources has. */
function firstOtherFile(then: Source, now: Source): number {
  const at = then.files.findIndex(({ sha256 }, index) => now.files[index]?.sha256 !== sha256);
  return at === -1 ? then.files.length : at;
}

function fileText(then: Source, now: Source, at: number): string {
  const [old, found] = [then.files[at], now.files[at]];
  const nameOf = ({ name, path }: Source['files'][number]) => showText(name ?? path, 200);
  if (old === undefined) return `${nameOf(found!)} is new in the source`;
  if (found === undefined) return `${nameOf(old)} is no longer in the source`;
  // The time of a copy shows nothing about its source.
  const state = ({ bytes, stamp, name }: typeof old) => {
    const time = name === undefined ? stampTime(stamp) : undefined;
    return `${formatBytes(bytes)}${time === undefined ? '' : `, written ${time.toISOString().slice(0, 19)}Z`}`;
  };
  return nameOf(old) === nameOf(found)
    ? `${nameOf(found)}: ${state(old)} then; ${state(found)} now`
    : `${nameOf(found)}: ${state(found)} now; the run has read ${nameOf(old)}: ${state(old)}`;
}

async function recordText(context: DifferenceContext, run: Run, now: Source, at: number): Promise<string> {
  try {
    return await findRecord(context, run, now, at);
  } catch (error) {
    // The text is only help: an error while it is made must not replace the error that it explains.
    if (error instanceof FoliopipeError) return 'which record differs is not known';
    throw error;
  }
}

/** Cuts the records of each chunk out of the source again, and compares what would be sent now with what was sent. */
async function findRecord(
  { config, checkpoint, files, signal }: DifferenceContext,
  run: Run,
  now: Source,
  at: number,
): Promise<string> {
  const reading = { source: now, config, signal };
  const before = now.files.slice(0, at).reduce((sum, { records }) => sum + records, 0);
  const chunks = () => chunksInOrder(checkpoint, run.id, 0, before);
  let same = before;
  let sent: AsyncGenerator<Batch> | undefined;
  let cutter: ((chunk: ChunkRow) => Promise<Buffer>) | undefined;
  try {
    for await (const chunk of chunks()) {
      const from = { position: chunk.start, record: chunk.firstRecord };
      sent ??=
        run.choice === null
          ? sendableRecordsFrom(reading, from)
          : pick(reading, from, chunks(), run, checkpoint);
      cutter ??= createCutter(sent, createUploadLayout(now, config.upload));
      const file = await cutter(chunk);
      if (sha256(file) === chunk.sha256) {
        same = chunk.lastRecord;
        continue;
      }
      return await textOf(
        reading,
        chunk,
        file,
        (await files.hasChunk(chunk.number, chunk.sha256)) ? files : undefined,
      );
    }
  } finally {
    await sent?.return(undefined);
  }
  const upTo =
    same === 0 ? 'no record was sent yet' : `records 1 to ${formatCount(same)} would be sent as they were`;
  return `${upTo}: the difference is after them, or in columns that are not sent`;
}

type Reading = Parameters<typeof recordsFrom>[0];

async function* pick(
  reading: Reading,
  from: ReadPosition,
  chunks: AsyncIterable<ChunkRow>,
  run: Run,
  checkpoint: DifferenceContext['checkpoint'],
): AsyncGenerator<Batch> {
  const numbers = async function* () {
    for await (const chunk of chunks) {
      yield (await checkpoint.pickedRecords(run.id, chunk.number)) ?? consecutive(chunk);
    }
  };
  yield* pickRecords(recordsFrom(reading, from), numbers());
}

function consecutive({ firstRecord, records }: ChunkRow): number[] {
  return Array.from({ length: records }, (_, at) => firstRecord + at);
}

/**
 * Gives the file that would be sent for each chunk, which is valid until the next call. It has fewer records if the source
 * ends, or if it becomes longer than the file that was sent: it differs within these records then, and the others may be
 * of any size.
 */
function createCutter(
  records: AsyncGenerator<Batch>,
  layout: ReturnType<typeof createUploadLayout>,
): (chunk: ChunkRow) => Promise<Buffer> {
  const kernel = new UploadKernel(layout);
  let batch: Batch | undefined;
  let next = 0;
  return async (chunk) => {
    kernel.clear();
    for (let missing = chunk.records; missing > 0; ) {
      if (batch === undefined || next === batch.count) {
        const read = await records.next();
        if (read.done) break;
        batch = read.value;
        next = 0;
        continue;
      }
      const upTo = Math.min(batch.count, next + missing);
      const written = kernel.write(batch, next, upTo, false, chunk.bytes);
      next += written;
      missing -= written;
      if (next < upTo) {
        kernel.write(batch, next, next + 1, true, chunk.bytes);
        break;
      }
    }
    return kernel.file;
  };
}

/** @param files has the file that was sent, if it is still there: then the record is known. */
async function textOf(
  reading: Reading,
  chunk: ChunkRow,
  now: Buffer,
  files: DifferenceContext['files'] | undefined,
): Promise<string> {
  const { number, firstRecord, lastRecord, records } = chunk;
  const range = `the first record that differs is one of ${formatCount(firstRecord)} to ${formatCount(lastRecord)} (chunk ${number})`;
  const isConsecutive = lastRecord - firstRecord + 1 === records;
  if (files === undefined || !isConsecutive) return range;
  const sent = await readChunkContent(await files.chunkContent(number));
  const [then, found] = [recordsOf(sent), recordsOf(Buffer.from(now))];
  const at = then.findIndex((record, index) => record !== found[index]);
  if (at === -1) return range;
  const record = firstRecord + at;
  const line = await lineOf(reading, chunk, record);
  const is = line === undefined ? 'there is none' : `${showText(found[at] ?? '')} would be (line ${line})`;
  return `the first record that differs is ${formatCount(record)}: ${showText(then[at]!)} was sent, and now ${is}`;
}

/** The records of an uploaded file, in the form in which they were sent. */
function recordsOf(file: Buffer): string[] {
  const { rows, options } = rowsOfChunkFile(file);
  const records: string[] = [];
  for (const batch of scanBuffer(rows, options)) {
    for (let row = 0; row < batch.count; row++) {
      const end = batch.ends[(row + 1) * options.fields - 1];
      records.push(Buffer.from(batch.bytes.subarray(batch.starts[row], end)).toString());
    }
  }
  return records;
}

/** The line on which a record begins; undefined if the source has no such record. */
async function lineOf(reading: Reading, chunk: ChunkRow, record: number): Promise<number | undefined> {
  const all = recordsFrom(reading, { position: chunk.start, record: chunk.firstRecord });
  for await (const batch of pickRecords(all, [[record]])) {
    return lineAt(reading.source.files[batch.file]!, batch.base + batch.starts[0]!);
  }
  return undefined;
}

function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}
