/**
 * Plans a run: what it would do, cost and save. Takes no lock and changes nothing. Uses no network, except for an output
 * in S3 and for a source that is a query, which is asked unless an unfinished run has its answer.
 */
import { dirname } from 'node:path';
import type { CheckpointReader, Run } from '../../checkpoint/checkpoint.js';
import { reservePath } from '../../checkpoint/journal/disk-reserve.js';
import { checkFixedValues, fixedValues, isOnlyMoved } from '../../config/fixed-values.js';
import type { Config } from '../../config/schema.js';
import { withLimit, withOutputPath, withPlannedPath } from '../../config/sections/output-path.js';
import type { SourceError } from '../../errors.js';
import { createOutputStore } from '../../files/create-output-store.js';
import type { OutputStore } from '../../files/output-store.js';
import { workPathOf } from '../../files/work-file.js';
import { silentLogger } from '../../logger.js';
import { judgedCounts, releaseReason } from '../../report/exit-code.js';
import { priceOf } from '../../report/origins.js';
import { checkReplaced, refuseBehind } from '../../report/output-owner.js';
import { isSpooled } from '../../spool/open-source.js';
import { withPlanFolder } from '../../spool/spool-folder.js';
import { checkPublished } from '../../stages/publish/check-published.js';
import type { RejectLimit, Source } from '../../types.js';
import { checkDisk, type DiskNeed } from '../check/check-disk.js';
import { type BudgetLeft, budgetLeft, canaryRecords, checkDelta } from '../check/check-new-run.js';
import { checkOutput } from '../check/check-output.js';
import { checkSource } from '../check/check-source.js';
import { refuseUnknownWork } from '../check/check-unknown-work.js';
import { missingOfService, serviceIdentity, withAddressOf } from '../configured-service.js';
import { asBegun, findDoneRun, prunedError } from '../open/done-run.js';
import { findGivenUp, type GivenUpRun, hasPaidNothing } from '../open/given-up-run.js';
import { type Stores, withStores } from '../open/open-stores.js';
import { type RunOptions, withHandedRecords } from '../run-options.js';
import { openStateReader, refuseMoved, refuseStateInFolder } from '../state-reader.js';
import { type PlannedRecords, type PlannedReuse, withPlannedRecords } from './plan-choice.js';
import { leftOf, type Preview, planChunks } from './plan-chunks.js';

/** What a run would send and cost, and where its output would be. */
export interface Plan {
  readonly pipeline: string;
  /** Null if neither the config nor an earlier run has an address. */
  readonly service: string | null;
  readonly source: Source;
  /** Whether the source was copied only for this plan: foliopipe run asks for it, or reads it, again. */
  readonly asked: boolean;
  /** The path of the output. That of a new run holds `{run}` where `output.path` does: its id is not known yet. */
  readonly output: string;
  /** How many records of the source may be bad or blank. */
  readonly maxRejected: RejectLimit;
  /** The records that the run sends, cut into chunks: their number and sums. Of a done run: of the whole source. */
  readonly chunks: { readonly count: number; readonly records: number; readonly bytes: number };
  /** The first records that the run sends, as they are sent. Of a done run: of the whole source. */
  readonly preview: Preview;
  /** What the run would not send; null if it sends every record, or nothing. */
  readonly reuse: PlannedReuse | null;
  /** The next step of `foliopipe run`. */
  readonly next: PlannedStep;
  /** Null if no price is configured. */
  readonly cost: { readonly amount: number; readonly currency: string } | null;
  /** The configured caps of the budget, and how many records are left for this run. */
  readonly budget: readonly BudgetLeft[];
  /** About how much room the run needs on its disks; empty if it would write nothing. */
  readonly disks: readonly DiskNeed[];
}

interface PlannedStep {
  readonly kind: 'begin' | 'continue' | 'done' | 'withheld' | 'changed';
  /** The run that would continue, is done or withheld, or has a changed source; null for a new run. */
  readonly run: string | null;
  /** Chunks and records that would still be uploaded; ambiguous ones are, unless `ambiguous.policy` is `hold`. */
  readonly chunks: number;
  readonly records: number;
  /** Records of the unfinished run that may have been accepted already. */
  readonly perhaps: number;
  /** Why a done run would be published again, or null. */
  readonly publishedAgain?: string | null;
  /** Why a withheld run would be published, or null. */
  readonly released?: string | null;
  /** What was paid for in the unfinished run that the new one replaces; null if none is replaced, or nothing was paid. */
  readonly givesUp: GivenUpRun | null;
}

/** @throws the SourceError, ConfigError or GuardError with which a run would end before it sends anything. */
export function planRun(whole: Config, given: PlanOptions): Promise<Plan> {
  return withHandedRecords(given, async (options) => {
    const config = withLimit(whole, options.limit);
    if (!isSpooled(config.source)) return planFrom(config, options, undefined);
    return withPlanFolder(config.stateDir, (folder) => planFrom(config, options, folder));
  });
}

/** The options of `planRun`. */
export interface PlanOptions
  extends Pick<
    RunOptions,
    | 'onProgress'
    | 'logger'
    | 'fresh'
    | 'output'
    | 'deltas'
    | 'answers'
    | 'reuse'
    | 'yes'
    | 'stdin'
    | 'records'
    | 'limit'
  > {
  readonly signal: AbortSignal;
}

/** @param folder for copies of the source; undefined if it is not copied. */
function planFrom(own: Config, options: PlanOptions, folder: string | undefined): Promise<Plan> {
  return withStores(own, (stores) => planWith(stores, own, options, folder));
}

async function planWith(
  stores: Stores,
  own: Config,
  options: PlanOptions,
  folder: string | undefined,
): Promise<Plan> {
  const { output = createOutputStore(own, options), fresh, signal, limit, logger = silentLogger } = options;
  const { answers = stores.answers, deltas = stores.deltas } = options;
  const reader = await openStateReader(own);
  try {
    if (reader !== undefined) await refuseMoved(own);
    await refuseStateInFolder(own);
    const now = Date.now();
    const open = await reader?.unfinishedRun(own.pipeline, limit);
    const given = withAddressOf(own, open ?? (await reader?.latestRun(own.pipeline)));
    const service = serviceIdentity(given);
    const unfinished = fresh ? undefined : open;
    const planned =
      unfinished === undefined ? withPlannedPath(given, now) : withOutputPath(given, unfinished);
    let excess: SourceError | undefined;
    const onExcess = (error: SourceError) => {
      excess = error;
    };
    const kept = given.source.query === null ? undefined : unfinished;
    const checking = { ...options, onExcess, kept, copies: stores.copies, folder };
    const source = await checkSource({ config: planned, output, signal }, checking, unfinished === undefined);
    // A run whose output is being put in place is finished first. That run then counts as the one that --new begins.
    const isLeft = open?.state === 'publishing' && open.source.sha256 === source.sha256;
    const found =
      fresh && !isLeft
        ? findReplaced(open)
        : await findNext({ config: given, output }, service, source, reader);
    const { kind, run, publishedAgain, released, replaced } = found;
    const config = run === null ? withPlannedPath(given, now) : withOutputPath(given, run);
    if (kind === 'begin' && excess !== undefined) throw excess;
    const sends = kind === 'begin' || kind === 'continue';
    const publishes = sends || (publishedAgain ?? released ?? null) !== null;
    if (publishes) {
      const paths = source.files.map(({ path }) => path);
      await checkOutput(config, output, paths);
      if (kind === 'begin') {
        if (reader !== undefined) await checkDelta({ config, deltas, checkpoint: reader });
        await checkReplaced(output, config, now, reader, { ...options, logger });
        await refuseUnknownWork(config, reader, { ...options, logger }, true);
      } else {
        await refuseBehind(output, config.output.path, config.pipeline, reader!, { ...options, logger });
      }
    }
    const begun = kind === 'continue' ? run! : undefined;
    const canary = begun?.canary ?? (await canaryRecords(config, service, source, reader));
    const read = begun === undefined ? source : asBegun(begun, source);
    const cut = (toSend: PlannedRecords['toSend']) => planChunks(config, read, canary, toSend, signal);
    const context = { config, checkpoint: reader, answers, signal, now };
    const { sent, reuse } = await (kind === 'done' || kind === 'withheld'
      ? { sent: await cut(undefined), reuse: null }
      : withPlannedRecords(context, options, source, begun, async (records) => ({
          sent: await cut(records.toSend),
          reuse: sends ? records.reuse : null,
        })));
    const { preview, ...chunks } = sent;
    const all = { chunks: chunks.count, records: chunks.records };
    const next: PlannedStep = {
      kind,
      run: run?.id ?? null,
      ...(begun === undefined ? { ...all, perhaps: 0 } : await leftOf(reader!, config, begun, chunks)),
      ...(!sends && { chunks: 0, records: 0 }),
      ...(publishedAgain !== undefined && { publishedAgain }),
      ...(released !== undefined && { released }),
      givesUp: replaced === undefined ? null : await givesUpOf(reader!, config, options, replaced, source),
    };
    let disks: readonly DiskNeed[] = [];
    if (sends) {
      const left = begun && {
        workFile: workPathOf(config.output.path, begun.id, config.stateDir),
        reserve: reservePath(config.stateDir, begun.id),
      };
      const write = {
        source,
        records: next.records,
        keepsAnswers: reuse !== null,
        ...left,
      };
      if (kind === 'begin' || next.records > 0)
        disks = await checkDisk(config, write, { ...options, logger });
    }
    const { pricePerRecord, currency } = config.budget;
    const amount = priceOf(next.records, pricePerRecord);
    const budget = await budgetLeft(reader, config, service, next.run, context.now);
    const { maxRejected } = config.source;
    const asked = folder !== undefined && source.files.some(({ path }) => dirname(path) === folder);
    return {
      pipeline: config.pipeline,
      service: missingOfService(config).includes('service.baseUrl') ? null : service,
      source,
      asked,
      output: config.output.path,
      maxRejected,
      chunks,
      preview,
      reuse,
      next,
      cost: amount === null ? null : { amount, currency },
      budget,
      disks,
    };
  } finally {
    await reader?.close();
  }
}

/** The kind of the next step, and the run that it is about. */
interface FoundStep extends Pick<PlannedStep, 'kind' | 'publishedAgain' | 'released'> {
  readonly run: Run | null;
  /** The unfinished run that the new one would replace. */
  readonly replaced?: Run;
}

const begins: FoundStep = { kind: 'begin', run: null };

/** The step of `--new`, which gives up an unfinished run. */
function findReplaced(open: Run | undefined): FoundStep {
  return open?.state === 'open' ? { ...begins, replaced: open } : begins;
}

async function givesUpOf(
  checkpoint: CheckpointReader,
  config: Config,
  options: Pick<RunOptions, 'reuse'>,
  run: Run,
  source: Source,
): Promise<GivenUpRun | null> {
  const isChanged = run.source.sha256 !== source.sha256;
  return (await findGivenUp({ config, checkpoint }, options, run, isChanged)) ?? null;
}

async function findNext(
  { config, output: store }: { readonly config: Config; readonly output: OutputStore },
  service: string,
  source: Source,
  reader: CheckpointReader | undefined,
): Promise<FoundStep> {
  if (reader === undefined) return begins;
  const frozen = fixedValues(config, service);
  const unfinished = await reader.unfinishedRun(config.pipeline, source.limit);
  const isDropped =
    unfinished?.state === 'open' &&
    isOnlyMoved(unfinished.frozen, frozen) &&
    (await hasPaidNothing({ config, checkpoint: reader }, unfinished));
  if (unfinished !== undefined && !isDropped) {
    checkFixedValues(unfinished.frozen, frozen, unfinished);
    if (unfinished.source.sha256 === source.sha256) return { kind: 'continue', run: unfinished };
    if (config.source.onChange === 'supersede') return { ...begins, replaced: unfinished };
    return { kind: 'changed', run: unfinished };
  }
  const done = await findDoneRun(reader, config, source.sha256, frozen);
  if (done === undefined) return begins;
  const { withheld, confirmed } = done;
  if (confirmed !== null) return { kind: 'done', run: done, publishedAgain: null };
  const why =
    withheld === null
      ? await whyPublishedAgain(
          { config: withOutputPath(config, done), output: store, checkpoint: reader },
          done,
        )
      : releaseReason(judgedCounts(withheld), config.failures);
  if (withheld !== null && why === null) return { kind: 'withheld', run: done };
  if (why !== null && done.prunedAt !== null) throw prunedError(done, why);
  return { kind: 'done', run: done, ...(withheld === null ? { publishedAgain: why } : { released: why }) };
}

async function whyPublishedAgain(
  context: Parameters<typeof checkPublished>[0],
  done: Run,
): Promise<string | null> {
  const output = await checkPublished(context, done);
  return output.kind === 'publish' ? output.why : null;
}
