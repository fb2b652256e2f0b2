/** Removes the results of runs that ended long ago, and copies of sources. The costs of runs stay in the ledger. */
import { join } from 'node:path';
import type { Checkpoint, CheckpointReader, Run } from '../checkpoint/checkpoint.js';
import { isUnfinished } from '../checkpoint/state.js';
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

export interface PruneContext {
  readonly checkpoint: Pick<Checkpoint, 'runs' | 'recordPruned' | 'verifyPaid'>;
  readonly files: FileStore;
  readonly answers: Pick<AnswerStore, 'removeChoice'>;
  readonly pipeline: string;
  readonly stateDir: string;
  readonly logger: Logger;
}

export interface PruneLimits {
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
 * Removes the rows of each run from the checkpoint first, and then its files, except the journal of paid requests. If a
 * kill leaves files behind, the next prune removes them. Runs that are open or being published are never pruned.
 * @throws ConfigError `CHECKPOINT_BEHIND` when the journal of a run knows more than the checkpoint.
 */
export async function* pruneRuns(context: PruneContext, limits: PruneLimits): AsyncGenerator<PrunedRun> {
  for (const run of await context.checkpoint.runs(context.pipeline)) {
    if (isUnfinished(run) || run.id === limits.keep || (run.finishedAt ?? run.createdAt) >= limits.before)
      continue;
    const bytes = await context.files.sizeOf(run.id);
    if (run.prunedAt !== null && !bytes) continue;
    if (!limits.dryRun) {
      await context.checkpoint.verifyPaid(run.id);
      if (run.prunedAt === null) await context.checkpoint.recordPruned(run.id, limits.now);
      // The files last: if some are left, the next prune sees that this one was killed.
      if (run.choice !== null) await context.answers.removeChoice(run.id);
      await context.files.remove(run.id);
      await removeWaitingFiles(run, context.stateDir);
      context.logger.debug({ run: run.id, bytes }, `the results of run ${run.id} are removed`);
    }
    yield { run: run.id, state: run.state, finishedAt: run.finishedAt, bytes: bytes ?? 0 };
  }
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
 * Removes copies of sources that no run of a pipeline needs any more. Keeps what an unfinished run reads, and what publishing the last run again, or asking again for its failed records,
 * would read: the copies of the last run that was not superseded, and of the last sample, until its results are pruned. Called with the
 * pipeline's lock.
 * @param run another run whose copies are kept.
 */
export async function removeUnneededCopies(
  config: SpoolPlace,
  { checkpoint, copies }: CopiesContext,
  run?: string,
): Promise<void> {
  const folder = spoolFolder(config);
  const needed = neededRuns(await checkpoint.runs(config.pipeline), run);
  const kept = new Set(needed.flatMap(({ source }) => source.files.map(({ sha256 }) => sha256)));
  await copies?.removeAllBut(config, kept);
  await removeCopies(folder, new Set([...kept].map((sha256) => copyPath(folder, sha256))));
  await removeOldPlans(join(config.stateDir, 'spool'), systemClock.now());
}

export interface CopiesContext {
  readonly checkpoint: Pick<CheckpointReader, 'runs'>;
  /** Where copies are that all machines see. */
  readonly copies?: SharedCopies | undefined;
}

/** @param runs all runs of a pipeline, in any order. */
function neededRuns(runs: readonly Run[], named: string | undefined): readonly Run[] {
  const current = runs.filter(({ state }) => state !== 'superseded');
  const newestOf = (some: readonly Run[]) =>
    some.reduce<Run | undefined>(
      (newest, run) => (newest === undefined || run.createdAt > newest.createdAt ? run : newest),
      undefined,
    )?.id;
  const lastSample = newestOf(current.filter(({ source }) => source.limit !== undefined));
  const kept = [newestOf(current.filter(({ source }) => source.limit === undefined)), lastSample, named];
  return current.filter((run) => run.prunedAt === null && (isUnfinished(run) || kept.includes(run.id)));
}
