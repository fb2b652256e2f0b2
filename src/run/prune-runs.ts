/** Removes the results of runs that ended long ago, and copies of sources. The costs of runs stay in the ledger. */
import { join } from 'node:path';
import type { Checkpoint, CheckpointReader, Run } from '../checkpoint/checkpoint.js';
import { isUnfinished } from '../checkpoint/walk-run.js';
import type { FileStore } from '../files/run-files.js';
import type { Logger } from '../logger.js';
import type { AnswerStore } from '../reuse/answer-store.js';
import type { SharedCopies } from '../spool/shared-copies.js';
import {
  copyPath,
  removeCopies,
  removeOldPlans,
  type SpoolPlace,
  spoolFolder,
} from '../spool/spool-folder.js';
import { removeWaitingFiles } from '../stages/publish/waiting-files.js';
import { systemClock } from '../streams/clock.js';

interface PruneContext extends CopiesContext {
  readonly checkpoint: Pick<Checkpoint, 'runs' | 'latestRun' | 'recordPruned' | 'verifyPaid'>;
  readonly files: FileStore;
  readonly answers: Pick<AnswerStore, 'removeChoice'>;
  readonly config: SpoolPlace;
  readonly logger: Logger;
}

interface PruneLimits {
  /** Runs that ended before this are pruned; epoch milliseconds. */
  readonly before: number;
  /** Epoch milliseconds. */
  readonly now: number;
  /** A run that is never pruned. */
  readonly keep?: string | undefined;
  /** Only report what would be removed. */
  readonly dryRun?: boolean | undefined;
}

/** A run whose results were removed. */
export interface PrunedRun {
  readonly run: string;
  readonly state: Run['state'];
  readonly finishedAt: number | null;
  /** Bytes of the files removed. */
  readonly bytes: number;
}

/**
 * Removes the results of a pipeline's old runs, and then the copies of sources that no run needs any more. Removes the
 * rows of each run from the checkpoint first, and then its files, except the journal of paid requests. If a kill leaves
 * files behind, the next prune removes them. Runs that are open or being published are never pruned.
 * @throws ConfigError `CHECKPOINT_BEHIND` when the journal of a run knows more than the checkpoint.
 */
export async function pruneRuns(context: PruneContext, limits: PruneLimits): Promise<PrunedRun[]> {
  const { checkpoint, config, copies } = context;
  const pruned: PrunedRun[] = [];
  const kept: Run[] = [];
  for (const run of await checkpoint.runs(config.pipeline)) {
    const removed = await pruneRun(context, run, limits);
    if (removed === undefined) kept.push(run);
    else pruned.push(removed);
  }
  if (limits.dryRun) return pruned;
  const begun = kept.find(({ source, state }) => source.limit === undefined && state !== 'superseded');
  await removeAllCopiesBut(config, copies, await neededRuns(context, kept, [begun?.id, limits.keep]));
  return pruned;
}

/** @returns what was removed; undefined if the run keeps its results, or has none left. */
async function pruneRun(
  { checkpoint, config, files, answers, logger }: PruneContext,
  run: Run,
  { before, now, keep, dryRun }: PruneLimits,
): Promise<PrunedRun | undefined> {
  const isRecent = (run.finishedAt ?? run.createdAt) >= before;
  if (isUnfinished(run) || run.id === keep || isRecent) return undefined;
  const bytes = await files.sizeOf(run.id);
  if (run.prunedAt !== null && !bytes) return undefined;
  if (!dryRun) {
    await checkpoint.verifyPaid(run.id);
    if (run.prunedAt === null) await checkpoint.recordPruned(run.id, now);
    // Removes the files last: if some are left, the next prune sees that this one was killed.
    if (run.choice !== null) await answers.removeChoice(run.id);
    await files.remove(run.id);
    await removeWaitingFiles(run, config.stateDir);
    logger.debug({ run: run.id, bytes }, `the results of run ${run.id} are removed`);
  }
  return { run: run.id, state: run.state, finishedAt: run.finishedAt, bytes: bytes ?? 0 };
}

/** The locations of runs that the checkpoint does not know. They are reported, never removed. */
export async function unknownRunFolders(
  checkpoint: Pick<Checkpoint, 'run'>,
  files: FileStore,
): Promise<readonly string[]> {
  const unknown: string[] = [];
  for (const { run, location } of await files.runs()) {
    if ((await checkpoint.run(run)) === undefined) unknown.push(location);
  }
  return unknown;
}

/**
 * Removes the copies of sources that no run of a pipeline needs any more. Called with the pipeline's lock. Keeps what an
 * unfinished run reads. Until their results are pruned, also keeps the copies of the last run and of the last sample:
 * publishing one of them again, or sending its failed records again, would read them.
 */
export async function removeUnneededCopies(
  config: SpoolPlace,
  { checkpoint, copies }: CopiesContext,
): Promise<void> {
  const runs = await checkpoint.runs(config.pipeline);
  await removeAllCopiesBut(config, copies, await neededRuns({ checkpoint, config }, runs));
}

async function removeAllCopiesBut(
  config: SpoolPlace,
  copies: SharedCopies | undefined,
  needed: readonly Run[],
): Promise<void> {
  const folder = spoolFolder(config);
  const kept = new Set(needed.flatMap(({ source }) => source.files.map(({ sha256 }) => sha256)));
  await copies?.removeAllBut(config, kept);
  await removeCopies(folder, new Set([...kept].map((sha256) => copyPath(folder, sha256))));
  await removeOldPlans(join(config.stateDir, 'spool'), systemClock.now());
}

interface CopiesContext {
  readonly checkpoint: Pick<CheckpointReader, 'runs' | 'latestRun'>;
  /** The store of copies that all machines see. */
  readonly copies?: SharedCopies | undefined;
}

/**
 * The runs whose copies are kept.
 * @param runs all runs of a pipeline, newest first. Those without results may be left out.
 * @param more other runs whose copies are kept.
 */
async function neededRuns(
  { checkpoint, config }: Pick<PruneContext, 'config'> & Pick<CopiesContext, 'checkpoint'>,
  runs: readonly Run[],
  more: readonly (string | undefined)[] = [],
): Promise<readonly Run[]> {
  const current = runs.filter(({ state }) => state !== 'superseded');
  const last = await checkpoint.latestRun(config.pipeline);
  const lastSample = current.find(({ source }) => source.limit !== undefined);
  const kept = [last?.id, lastSample?.id, ...more];
  return current.filter((run) => run.prunedAt === null && (isUnfinished(run) || kept.includes(run.id)));
}
