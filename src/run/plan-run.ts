/** Plans a run: what it would do and cost. Uses no network, takes no lock and changes nothing. */
import type { CheckpointReader, Run, Tally } from '../checkpoint/checkpoint.js';
import { openCheckpointReader } from '../checkpoint/sqlite/open-sqlite-checkpoint.js';
import { checkFixedValues, fixedValues } from '../config/fixed-values.js';
import type { Config } from '../config/schema.js';
import { createLocalOutputStore } from '../files/local-output-store.js';
import type { OutputStore } from '../files/output-store.js';
import { createUploadLayout, cutChunks } from '../stages/chunk/cut-chunks.js';
import { checkPublished } from '../stages/publish/check-published.js';
import { firstPosition, recordsFrom } from '../stages/read-source.js';
import type { Source } from '../types.js';
import { checkSource } from './check-source.js';
import { pickDoneRun, prunedError } from './done-run.js';
import { type BudgetLeft, budgetLeft, canaryRecords } from './guards.js';
import type { RunOptions } from './run-options.js';
import { serviceIdentity } from './service.js';

export interface Plan {
  readonly pipeline: string;
  readonly service: string;
  readonly source: Source;
  /** The whole source cut into chunks: their number and sums. */
  readonly chunks: { readonly count: number; readonly records: number; readonly bytes: number };
  /** The next step of `foliopipe run`. */
  readonly next: PlannedStep;
  /** Null if no price is configured. */
  readonly cost: { readonly amount: number; readonly currency: string } | null;
  /** The configured caps of the budget, and how many records are left for this run. */
  readonly budget: readonly BudgetLeft[];
}

export interface PlannedStep {
  readonly kind: 'begin' | 'continue' | 'done' | 'changed';
  /** The run that would continue, is done, or has a changed source; null for a new run. */
  readonly run: string | null;
  /** Chunks and records that would still be uploaded, ambiguous ones included. */
  readonly chunks: number;
  readonly records: number;
  /** Why a done run would be published again, or null. */
  readonly publishedAgain?: string | null;
}

/** @throws the SourceError, ConfigError or GuardError with which a run would end before it sends anything. */
export async function planRun(
  config: Config,
  options: Pick<RunOptions, 'onScan' | 'fresh' | 'output' | 'reuse' | 'yes'> & {
    readonly signal: AbortSignal;
  },
): Promise<Plan> {
  const { output = createLocalOutputStore() } = options;
  const source = await checkSource({ config, output, signal: options.signal }, options);
  const service = serviceIdentity(config);
  const reader = await openCheckpointReader(config.stateDir);
  try {
    const begun = options.fresh ? undefined : await reader?.unfinishedRun(config.pipeline);
    const canary = begun?.canary ?? (await canaryRecords(config, service, source, reader));
    const chunks = await planChunks(config, source, canary, options.signal);
    const next = await nextStep(
      { config, output },
      service,
      source,
      chunks,
      options.fresh ? undefined : reader,
    );
    const { pricePerRecord, currency } = config.budget;
    const cost = pricePerRecord === null ? null : { amount: next.records * pricePerRecord, currency };
    const budget = await budgetLeft(reader, config, next.run, Date.now());
    return { pipeline: config.pipeline, service, source, chunks, next, cost, budget };
  } finally {
    await reader?.close();
  }
}

async function planChunks(
  config: Config,
  source: Source,
  canary: number,
  signal: AbortSignal,
): Promise<Plan['chunks']> {
  const total = { count: 0, records: 0, bytes: 0 };
  const records = recordsFrom({ source, config, signal }, firstPosition(source));
  const layout = createUploadLayout(source, config.upload);
  for await (const { chunk } of cutChunks(records, layout, { ...config.chunks, canary })) {
    total.count += 1;
    total.records += chunk.records;
    total.bytes += chunk.bytes;
  }
  return total;
}

async function nextStep(
  { config, output: store }: { readonly config: Config; readonly output: OutputStore },
  service: string,
  source: Source,
  all: Plan['chunks'],
  reader: CheckpointReader | undefined,
): Promise<PlannedStep> {
  const begin: PlannedStep = { kind: 'begin', run: null, chunks: all.count, records: all.records };
  if (reader === undefined) return begin;
  const unfinished = await reader.unfinishedRun(config.pipeline);
  if (unfinished !== undefined) {
    checkFixedValues(unfinished.frozen, fixedValues(config, service), unfinished.id);
    const same = unfinished.source.sha256 === source.sha256;
    return same
      ? continuing(reader, unfinished, all)
      : { kind: 'changed', run: unfinished.id, chunks: 0, records: 0 };
  }
  const frozen = fixedValues(config, service);
  const done = pickDoneRun(await reader.doneRuns(config.pipeline, service, source.sha256), frozen);
  if (done === undefined) return begin;
  const output = await checkPublished({ config, output: store, checkpoint: reader }, done);
  const publishedAgain = output.kind === 'publish' ? output.why : null;
  if (publishedAgain !== null && done.prunedAt !== null) throw prunedError(done, publishedAgain);
  return { kind: 'done', run: done.id, chunks: 0, records: 0, publishedAgain };
}

async function continuing(reader: CheckpointReader, run: Run, all: Plan['chunks']): Promise<PlannedStep> {
  const tally = await reader.tally(run.id);
  const toSend = (of: Tally['chunks']) => of.cut + of.uploading + of.ambiguous;
  const kind = 'continue';
  // Once the source is cut to its end, its chunks are counted, including those of rounds.
  if (run.chunks !== null) {
    return { kind, run: run.id, chunks: toSend(tally.chunks), records: toSend(tally.records) };
  }
  const settled = (of: Tally['chunks']) =>
    of.submitted + of.finished + of.downloaded + of.unprocessed + of.refused;
  const chunks = Math.max(all.count - settled(tally.chunks), 0);
  return { kind, run: run.id, chunks, records: all.records - settled(tally.records) };
}
