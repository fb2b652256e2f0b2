/**
 * Plans a run: what it would do, cost and save. Takes no lock and changes nothing. Uses no network, except for an output
 * in S3 and for a source that is a query, which is asked unless an unfinished run has its answer.
 */
import { dirname } from 'node:path';
import type { CheckpointReader, Run } from '../../checkpoint/checkpoint.js';
import { reservePath } from '../../checkpoint/journal/disk-reserve.js';
import { checkFrozenConfig, frozenConfig } from '../../config/frozen-config.js';
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
import { findGivenUp, type GivenUpRun, isMovedUnpaid } from '../open/given-up-run.js';
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
    const planWithin = (folder: string | undefined) =>
      withStores(config, (stores) => planWith(stores, config, options, folder));
    return isSpooled(config.source) ? withPlanFolder(config.stateDir, planWithin) : planWithin(undefined);
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
        : await findNext({ config: given, output, reader, unfinished: open }, service, source);
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
    const isChanged = replaced !== undefined && replaced.source.sha256 !== source.sha256;
    const givesUp =
      replaced && (await findGivenUp({ config, checkpoint: reader! }, options, replaced, isChanged));
    const left = begun && (await leftOf(reader!, config, begun, chunks));
    const all = sends ? { chunks: chunks.count, records: chunks.records } : { chunks: 0, records: 0 };
    const next: PlannedStep = {
      kind,
      run: run?.id ?? null,
      ...(left ?? { ...all, perhaps: 0 }),
      ...(publishedAgain !== undefined && { publishedAgain }),
      ...(released !== undefined && { released }),
      givesUp: givesUp ?? null,
    };
    const write = {
      source,
      records: next.records,
      keepsAnswers: reuse !== null,
      ...(begun && {
        workFile: workPathOf(config.output.path, begun.id, config.stateDir),
        reserve: reservePath(config.stateDir, begun.id),
      }),
    };
    const writes = kind === 'begin' || next.records > 0;
    const disks = writes ? await checkDisk(config, write, { ...options, logger }) : [];
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

/** @param unfinished the unfinished run of the pipeline. */
async function findNext(
  {
    config,
    output,
    reader,
    unfinished,
  }: {
    readonly config: Config;
    readonly output: OutputStore;
    readonly reader: CheckpointReader | undefined;
    readonly unfinished: Run | undefined;
  },
  service: string,
  source: Source,
): Promise<FoundStep> {
  if (reader === undefined) return begins;
  const frozen = frozenConfig(config, service);
  const given = { config, checkpoint: reader };
  if (unfinished !== undefined && !(await isMovedUnpaid(given, unfinished, frozen))) {
    checkFrozenConfig(unfinished.frozen, frozen, unfinished);
    if (unfinished.source.sha256 === source.sha256) return { kind: 'continue', run: unfinished };
    if (config.source.onChange === 'supersede') return { ...begins, replaced: unfinished };
    return { kind: 'changed', run: unfinished };
  }
  const done = await findDoneRun(reader, config, source.sha256, frozen);
  if (done === undefined) return begins;
  const { withheld, confirmed, prunedAt } = done;
  if (confirmed !== null) return { kind: 'done', run: done, publishedAgain: null };
  if (withheld !== null) {
    const released = releaseReason(judgedCounts(withheld), config.failures);
    if (released === null) return { kind: 'withheld', run: done };
    if (prunedAt !== null) throw prunedError(done, released);
    return { kind: 'done', run: done, released };
  }
  const context = { config: withOutputPath(config, done), output, checkpoint: reader };
  const found = await checkPublished(context, done);
  if (found.kind !== 'publish') return { kind: 'done', run: done, publishedAgain: null };
  if (prunedAt !== null) throw prunedError(done, found.why);
  return { kind: 'done', run: done, publishedAgain: found.why };
}
