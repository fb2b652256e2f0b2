/** Cuts the records that a planned run would send, and keeps the first of them to show what would be sent. */
import type { CheckpointReader, Run, Tally } from '../../checkpoint/checkpoint.js';
import type { Config } from '../../config/schema.js';
import { type Batch, fieldValue } from '../../csv/table.js';
import { pickRecords } from '../../source/read-records.js';
import { createUploadLayout, cutChunks } from '../../stages/chunk/cut-chunks.js';
import { firstPosition, recordsFrom, sendableRecordsFrom, skipsBlank } from '../../stages/read-source.js';
import type { Source } from '../../types.js';
import type { PlannedRecords } from './plan-choice.js';

/** The first records as they would be sent. */
export interface Preview {
  /** The names of the columns that are sent. */
  readonly columns: readonly string[];
  /** A value for each column, shortened to 200 characters. */
  readonly records: readonly (readonly string[])[];
}

interface PlannedChunks {
  readonly count: number;
  readonly records: number;
  readonly bytes: number;
  readonly preview: Preview;
}

const PREVIEWED = 3;
const MAX_VALUE = 200;

/**
 * @param canary records of the first chunk; 0: as many as in the others.
 * @param toSend the numbers of the records to send; undefined: all.
 */
export async function planChunks(
  config: Config,
  source: Source,
  canary: number,
  toSend: PlannedRecords['toSend'],
  signal: AbortSignal,
): Promise<PlannedChunks> {
  const total = { count: 0, records: 0, bytes: 0 };
  const run = { source, config, signal };
  const from = firstPosition(source);
  const records =
    toSend === undefined ? sendableRecordsFrom(run, from) : pickRecords(recordsFrom(run, from), toSend(0));
  const limits = { ...config.chunks, canary, countsGaps: toSend === undefined && skipsBlank(source) };
  const layout = createUploadLayout(source, config.upload);
  const shown: string[][] = [];
  const hasKey = config.upload.keyColumn !== null;
  const previewed = previewing(records, layout.fields, hasKey, shown);
  for await (const { chunk } of cutChunks(previewed, layout, limits)) {
    total.count += 1;
    total.records += chunk.records;
    total.bytes += chunk.bytes;
  }
  const columns = [...(hasKey ? [config.upload.keyColumn!] : []), ...Object.keys(config.upload.columns)];
  return { ...total, preview: { columns, records: shown } };
}

/** What an open run has still to send. @param all what it sends in all. */
export async function leftOf(
  reader: Pick<CheckpointReader, 'tally'>,
  { ambiguous: { policy } }: Pick<Config, 'ambiguous'>,
  run: Run,
  all: Pick<PlannedChunks, 'count' | 'records'>,
): Promise<{ readonly chunks: number; readonly records: number; readonly perhaps: number }> {
  const tally = await reader.tally(run.id);
  const doubtful = (counts: Tally['chunks']) => counts.uploading + counts.ambiguous;
  const held = (counts: Tally['chunks']) => (policy === 'hold' ? doubtful(counts) : 0);
  const toSend = (counts: Tally['chunks']) => counts.cut + doubtful(counts) - held(counts);
  const perhaps = doubtful(tally.records);
  // Once the whole source is cut, its chunks are counted, including those of rounds.
  if (run.chunks !== null) return { chunks: toSend(tally.chunks), records: toSend(tally.records), perhaps };
  const settled = (counts: Tally['chunks']) =>
    counts.submitted +
    counts.finished +
    counts.downloaded +
    counts.unprocessed +
    counts.refused +
    held(counts);
  // A split chunk is two chunks instead of one.
  const chunks = Math.max(all.count + tally.chunks.split - settled(tally.chunks), 0);
  return { chunks, records: all.records - settled(tally.records), perhaps };
}

/** Passes the batches on, and adds the values of the first records to `shown`. */
async function* previewing(
  batches: AsyncIterable<Batch>,
  fields: readonly number[],
  hasKey: boolean,
  shown: string[][],
): AsyncGenerator<Batch> {
  for await (const batch of batches) {
    for (let row = 0; row < batch.count && shown.length < PREVIEWED; row++) {
      const values = fields.map((field) => fieldValue(batch, row, field).slice(0, MAX_VALUE));
      shown.push(hasKey ? [String(batch.numbers[row]), ...values] : values);
    }
    yield batch;
  }
}
