/** Removes the results of runs that ended long ago; what they cost stays in the ledger. */
import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Checkpoint, Run } from '../checkpoint/checkpoint.js';
import { isJournal } from '../checkpoint/journal/journal-folder.js';
import type { Logger } from '../logger.js';
import { workPathOf } from '../stages/publish/work-file.js';

export interface PruneNeeds {
  readonly checkpoint: Pick<Checkpoint, 'runs' | 'recordPruned' | 'verifyPaid'>;
  readonly stateDir: string;
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
    const folder = join(needs.stateDir, 'runs', run.id);
    const bytes = await sizeOf(folder);
    if (run.prunedAt !== null && !bytes) continue;
    if (!terms.dryRun) {
      await needs.checkpoint.verifyPaid(run.id);
      if (run.prunedAt === null) await needs.checkpoint.recordPruned(run.id, terms.now);
      await removeFiles(run, folder);
      needs.logger.debug({ run: run.id, bytes }, `the results of run ${run.id} are removed`);
    }
    yield { run: run.id, state: run.state, finishedAt: run.finishedAt, bytes: bytes ?? 0 };
  }
}

/** Folders below `runs/` that no run of the checkpoint knows: told, never removed. */
export async function unknownRunFolders(
  checkpoint: Pick<Checkpoint, 'run'>,
  stateDir: string,
): Promise<readonly string[]> {
  const folder = join(stateDir, 'runs');
  const unknown: string[] = [];
  for (const name of await readdir(folder).catch(() => [])) {
    if ((await checkpoint.run(name)) === undefined) unknown.push(join(folder, name));
  }
  return unknown;
}

/** The folder with chunks and parts, and half-written outputs that nothing will go on with. */
async function removeFiles(run: Run, folder: string): Promise<void> {
  for (const name of await readdir(folder).catch(() => [])) {
    if (!isJournal(name)) await rm(join(folder, name), { recursive: true, force: true });
  }
  const output = JSON.parse(run.frozen['output.path'] ?? 'null') as string | null;
  if (output === null) return;
  for (const cutShort of [false, true]) await rm(workPathOf(output, run.id, cutShort), { force: true });
}

/** Bytes of a run's files, or undefined where there is none but its journal. */
async function sizeOf(folder: string): Promise<number | undefined> {
  const names = (await readdir(folder).catch(() => [])).filter((name) => !isJournal(name));
  if (names.length === 0) return undefined;
  let bytes = 0;
  for (const name of names) bytes += (await stat(join(folder, name)).catch(() => undefined))?.size ?? 0;
  return bytes;
}
