/** Removes the results of runs that ended long ago. Their costs stay in the ledger. */
import type { Checkpoint, Run } from '../checkpoint/checkpoint.js';
import type { FileStore } from '../files/run-files.js';
import { removeLocalFile, workPathOf } from '../files/work-file.js';
import type { Logger } from '../logger.js';

export interface PruneContext {
  readonly checkpoint: Pick<Checkpoint, 'runs' | 'recordPruned' | 'verifyPaid'>;
  readonly files: FileStore;
  readonly pipeline: string;
  readonly logger: Logger;
}

export interface PruneTerms {
  /** Runs that ended before this are pruned; epoch milliseconds. */
  readonly before: number;
  /** Epoch milliseconds. */
  readonly now: number;
  /** Never pruned. */
  readonly keep?: string;
  /** Only report what would be removed. */
  readonly dryRun?: boolean;
}

export interface PrunedRun {
  readonly run: string;
  readonly state: Run['state'];
  readonly finishedAt: number | null;
  /** Bytes of the files removed. */
  readonly bytes: number;
}

/**
 * First the run's rows are removed from the checkpoint, then its files, except the journal of what was paid. Files that
 * a kill leaves are removed by the next prune. Runs that are open or being published are never pruned.
 * @throws ConfigError `CHECKPOINT_BEHIND` when the checkpoint knows less of a run than its journal.
 */
export async function* pruneRuns(context: PruneContext, terms: PruneTerms): AsyncGenerator<PrunedRun> {
  for (const run of await context.checkpoint.runs(context.pipeline)) {
    const ended = run.state === 'done' || run.state === 'superseded';
    if (!ended || run.id === terms.keep || (run.finishedAt ?? run.createdAt) >= terms.before) continue;
    const bytes = await context.files.sizeOf(run.id);
    if (run.prunedAt !== null && !bytes) continue;
    if (!terms.dryRun) {
      await context.checkpoint.verifyPaid(run.id);
      if (run.prunedAt === null) await context.checkpoint.recordPruned(run.id, terms.now);
      await context.files.remove(run.id);
      await removeWorkFiles(run);
      context.logger.debug({ run: run.id, bytes }, `the results of run ${run.id} are removed`);
    }
    yield { run: run.id, state: run.state, finishedAt: run.finishedAt, bytes: bytes ?? 0 };
  }
}

/** Locations of runs that the checkpoint does not know: they are reported, never removed. */
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

/** Unfinished outputs of a run that does not go on. */
async function removeWorkFiles(run: Run): Promise<void> {
  const output = JSON.parse(run.frozen['output.path'] ?? 'null') as string | null;
  if (output === null) return;
  for (const partial of [false, true]) await removeLocalFile(workPathOf(output, run.id, partial));
}
