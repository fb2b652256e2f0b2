/** Paths of journals, and the runs that have files in the state folder, without asking the database. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';

const JOURNAL = 'paid.log';

/** Names of a run's files: a folder without such a file is not a run's. */
const OF_RUN = /^(paid\.log|(chunk|part)-.*)$/;

/** Path of a run's journal. */
export function journalPath(stateDir: string, run: string): string {
  return join(stateDir, 'runs', run, JOURNAL);
}

/** Whether the file of this name is the journal of a run. */
export function isJournal(name: string): boolean {
  return name === JOURNAL;
}

/** Ids of the runs that have files in the state folder, ascending. */
export function runsWithFiles(stateDir: string): readonly string[] {
  const runs = join(stateDir, 'runs');
  return namesIn(runs)
    .filter((run) => namesIn(join(runs, run)).some((name) => OF_RUN.test(name)))
    .sort();
}

/** Empty if there is no such folder. */
function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return [];
    throw error;
  }
}
