/** Where journals stand, and which runs the state folder holds something of, whatever the database says. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';

const JOURNAL = 'paid.log';

/** Names of what is written for a run: nothing else makes its folder a run's. */
const OF_RUN = /^(paid\.log|(chunk|part)-.*)$/;

/** Where the journal of a run stands. */
export function journalPath(stateDir: string, run: string): string {
  return join(stateDir, 'runs', run, JOURNAL);
}

/** Whether the file of this name is the journal of a run. */
export function isJournal(name: string): boolean {
  return name === JOURNAL;
}

/** The runs that have files in the state folder, by id; folders without such files are no run's. */
export function runsWithFiles(stateDir: string): readonly string[] {
  const runs = join(stateDir, 'runs');
  return namesIn(runs)
    .filter((run) => namesIn(join(runs, run)).some((name) => OF_RUN.test(name)))
    .sort();
}

/** Nothing where there is no such folder. */
function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return [];
    throw error;
  }
}
