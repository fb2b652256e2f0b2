/** Removes the results of runs that ended long ago; what they cost stays in the ledger. */
import type { Checkpoint, Run } from '../checkpoint/checkpoint.js';
import { removeLocalFile, workPathOf } from '../files/local-file.js';
import type { FileStore } from '../files/run-files.js';
import type { Logger } from '../logger.js';

export interface PruneNeeds {
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
  /** Only say what would be removed. */
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
 * The checkpoint forgets first, then the files go, but for the journal of what was paid: what a kill leaves of a
 * pruned run's files goes with the next prune. Runs that are open or being published are never touched.
 * @throws ConfigError `CHECKPOINT_BEHIND` when the checkpoint knows less of a run than its journal.
 */
export async function* pruneRuns(needs: PruneNeeds, terms: PruneTerms): AsyncGenerator<PrunedRun> {
  for (const run of await needs.checkpoint.runs(needs.pipeline)) {
    const ended = run.state === 'done' || run.state === 'superseded';
    if (!ended || run.id === terms.keep || (run.finishedAt ?? run.createdAt) >= terms.before) continue;
    const bytes = await needs.files.sizeOf(run.id);
    if (run.prunedAt !== null && !bytes) continue;
    if (!terms.dryRun) {
      await needs.checkpoint.verifyPaid(run.id);
      if (run.prunedAt === null) await needs.checkpoint.recordPruned(run.id, terms.now);
      await needs.files.remove(run.id);
      await removeWorkFiles(run);
      needs.logger.debug({ run: run.id, bytes }, `the results of run ${run.id} are removed`);
    }
    yield { run: run.id, state: run.state, finishedAt: run.finishedAt, bytes: bytes ?? 0 };
  }
}

/** Where files of runs are that the checkpoint does not know: shown to a person, never removed. */
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

/** Half-written outputs that no run goes on with. */
async function removeWorkFiles(run: Run): Promise<void> {
  const output = JSON.parse(run.frozen['output.path'] ?? 'null') as string | null;
  if (output === null) return;
  for (const cutShort of [false, true]) await removeLocalFile(workPathOf(output, run.id, cutShort));
}
