/** Makes a segment of a file of answers that were bought before, so that they count from the first night on. */

import { createHash } from 'node:crypto';
import type { Checkpoint } from '../../checkpoint/checkpoint.js';
import type { Config } from '../../config/schema.js';
import { MAX_CHUNK_BYTES } from '../../config/sections/sections.js';
import { serviceAddress } from '../../config/sections/service-section.js';
import { ConfigError, reworded, SourceError } from '../../errors.js';
import { countOf } from '../../quantities.js';
import type { AnswerStore, SegmentWriter } from '../../reuse/answer-store.js';
import { readRecords } from '../../source/read-records.js';
import { scanSource } from '../../source/scan-source.js';
import { fileStamp } from '../../source/source-files.js';
import { firstPosition, sourceChanged } from '../../stages/read-source.js';
import type { Segment, Source } from '../../types.js';
import { serviceIdentity } from '../configured-service.js';
import { timeInId } from '../open/begin-run.js';
import { type ImportFacts, importFacts } from './import-facts.js';
import { type ImportLayout, importLayout } from './import-layout.js';
import { createImportedRows, NUMBER_COLUMN, type RowOutcomes } from './imported-rows.js';
import { nextSegmentId } from './prune-answers.js';
import { IMPORT } from './show-answers.js';

/** How answers are imported. */
export interface ImportOptions {
  readonly path: string;
  /** When the answers were paid for, where the rows do not say it; epoch milliseconds. */
  readonly paidAt?: number | undefined;
  /** The answers' columns: the service's name, and the name in the file. */
  readonly columns?: Readonly<Record<string, string>> | undefined;
  /** As `source.encoding` and `source.delimiter`; default: `auto`. */
  readonly encoding?: string | undefined;
  readonly delimiter?: string | undefined;
}

/** What was imported. */
export interface ImportedAnswers extends ImportFacts {
  /** The id of the import. */
  readonly run: string;
  readonly read: number;
  readonly successful: number;
  readonly failed: number;
  /** Rows that the service did not answer: unprocessed, refused, or without any value. */
  readonly unanswered: number;
  /** Rows that are blank in all sent columns: such a record is never reused. */
  readonly blank: number;
  readonly columns: readonly string[];
  /** Whether the columns of the service were known, so that these could be compared with them. */
  readonly checked: boolean;
  /** Whether an earlier import of the same file was replaced. */
  readonly replaced: boolean;
}

interface ImportContext {
  readonly checkpoint: Pick<Checkpoint, 'segments' | 'recordSegment' | 'knownColumns'>;
  readonly answers: Pick<AnswerStore, 'openSegment' | 'removeSegment'>;
  readonly signal: AbortSignal;
  /** Epoch milliseconds. */
  readonly now: number;
}

/**
 * Reads the whole file twice: to check it, and to take its answers. An import of the same file for the same service and
 * sent columns replaces the earlier one.
 * @throws SourceError as `scanSource` does; ConfigError as `importLayout` and `importFacts` do; `IMPORT_NOTHING` when no
 *   row holds an answer.
 */
export async function importAnswers(
  context: ImportContext,
  config: Config,
  options: ImportOptions,
): Promise<ImportedAnswers> {
  const { checkpoint, signal, now } = context;
  const { path, encoding = 'auto', delimiter = 'auto' } = options;
  const maxRecordBytes = MAX_CHUNK_BYTES;
  const source = await scanSource({
    paths: [path],
    encoding,
    delimiter,
    maxRejected: { records: 0 },
    maxRecordBytes,
    signal,
  }).catch((error: unknown) => {
    throw error instanceof SourceError ? aboutAnswers(error) : error;
  });
  const facts = await importFacts({ path, sha256: source.sha256 }, config, options.paidAt);
  const known = await knownColumns(config, checkpoint);
  const layout = importLayout(source.columns, config, { known, columns: options.columns });
  const own = await identify(context, config, source);
  const outcomes = { successful: 0, failed: 0, unanswered: 0 };
  const segment = await writeSegment(context, config, { source, layout, facts, own, outcomes });
  await checkpoint.recordSegment(segment);
  if (own.replaces !== undefined) await context.answers.removeSegment(own.replaces.id);
  const { successful, failed } = segment;
  return {
    run: own.run,
    ...facts,
    // With lineage each row has its own time.
    reusedRows: layout.lineage === null ? facts.reusedRows : 0,
    read: source.records,
    successful,
    failed,
    unanswered: outcomes.unanswered,
    blank: outcomes.successful + outcomes.failed - successful - failed,
    columns: layout.columns,
    checked: known.length > 0,
    replaced: own.replaces !== undefined,
    paidAt: Math.min(facts.paidAt, now),
  };
}

async function knownColumns(
  config: Config,
  checkpoint: Pick<Checkpoint, 'knownColumns'>,
): Promise<readonly string[]> {
  if (config.result.columns.length > 0) return config.result.columns;
  return (await checkpoint.knownColumns(config.pipeline, serviceIdentity(config))) ?? [];
}

interface Identity {
  readonly run: string;
  readonly id: string;
  /** The segment of an earlier import of the same file. */
  readonly replaces: Segment | undefined;
}

async function identify(
  { checkpoint, now }: Pick<ImportContext, 'checkpoint' | 'now'>,
  config: Config,
  source: Source,
): Promise<Identity> {
  const what = [source.sha256, serviceIdentity(config), ...Object.keys(config.upload.columns)];
  const hash = createHash('sha256').update(JSON.stringify(what)).digest('hex').slice(0, 12);
  const replaces = (await checkpoint.segments()).find(
    ({ run }) => run.startsWith(IMPORT) && run.endsWith(`-${hash}`),
  );
  const run = replaces?.run ?? `${IMPORT}${timeInId(now)}-${hash}`;
  return { run, id: replaces === undefined ? `${run}-${now}` : nextSegmentId(replaces, now), replaces };
}

interface SegmentParts {
  readonly source: Source;
  readonly layout: ImportLayout;
  readonly facts: ImportFacts;
  readonly own: Identity;
  readonly outcomes: RowOutcomes;
}

async function writeSegment(
  context: ImportContext,
  config: Config,
  { source, layout, facts, own, outcomes }: SegmentParts,
): Promise<Segment> {
  const rehearsal = config.service.embedded;
  const writer = await context.answers.openSegment({
    id: own.id,
    run: own.run,
    service: rehearsal ? serviceAddress(config) : serviceIdentity(config),
    rehearsal,
    sentColumns: Object.keys(config.upload.columns),
    keyColumn: NUMBER_COLUMN,
    columns: layout.columns,
    epoch: config.reuse.epoch,
  });
  try {
    await addRows(context, writer, { source, layout, facts, outcomes });
    if (outcomes.successful + outcomes.failed === 0) throw nothing(source);
    return await writer.finish();
  } finally {
    await writer.close();
  }
}

async function addRows(
  { signal, now }: Pick<ImportContext, 'signal' | 'now'>,
  writer: SegmentWriter,
  { source, layout, facts, outcomes }: Omit<SegmentParts, 'own'>,
): Promise<void> {
  const { path, dialect, stamp } = source.files[0]!;
  const times = { paidAt: Math.min(facts.paidAt, now), now };
  const read = createImportedRows(layout, dialect.delimiter.charCodeAt(0), times, outcomes);
  const batches = readRecords(source, firstPosition(source), {
    maxRecordBytes: MAX_CHUNK_BYTES,
    signal,
    onBadRecord: (bad) => {
      throw aboutAnswers(sourceChanged(path, bad.message));
    },
  });
  for await (const batch of batches) {
    const { rows, numbers, answers } = read(batch);
    await writer.add(rows, numbers, answers);
  }
  if ((await fileStamp(path)).stamp !== stamp) throw aboutAnswers(sourceChanged(path, 'it was written to'));
}

/** The same error. A hint about the source is replaced by one about a file of answers. */
function aboutAnswers(error: SourceError): SourceError {
  const isAboutSource = /\bsource\.|foliopipe (?:run|plan)\b/.test(error.hint ?? '');
  const hint = HINTS[error.code] ?? (isAboutSource ? CORRECT : undefined);
  return hint === undefined ? error : reworded(error, { hint });
}

const CORRECT =
  'nothing was imported; correct the file, or say how it is read with --encoding and --delimiter, then run the same command again';

const HINTS: Readonly<Record<string, string>> = {
  SOURCE_MISSING: 'check the path of the file with the answers: a relative one belongs to this folder',
  SOURCE_NOT_CSV:
    'an import reads CSV, also gzipped; write an output of another format as CSV first: foliopipe publish RUN --output FILE.csv',
  SOURCE_ENCODING:
    "nothing was imported; name the file's encoding, such as: --encoding windows-1252; or check that the file is complete",
  SOURCE_CHANGED:
    'nothing was imported; wait until the file is written completely, then run the same command again',
};

function nothing(source: Source): ConfigError {
  return new ConfigError('IMPORT_NOTHING', `none of ${countOf(source.records, 'row')} has an answer`, {
    hint: 'check --columns, and output.prefix if the file is an output of foliopipe',
    facts: { file: source.files[0]!.path, records: source.records },
  });
}
