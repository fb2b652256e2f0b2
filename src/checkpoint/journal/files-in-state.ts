/** What has files in the state folder: runs and segments. Does not use the database. */
import { join } from 'node:path';
import { namesIn } from '../../streams/system-error.js';

/** Names of a run's files. Only a folder with such a file belongs to a run. */
const RUN_FILE = /^(paid\.log|(chunk|part)-.*)$/;

/** The ids of the runs that have files in the state folder, ascending. */
export function runsWithFiles(stateDir: string): readonly string[] {
  const runs = join(stateDir, 'runs');
  return namesIn(runs)
    .filter((run) => namesIn(join(runs, run)).some((name) => RUN_FILE.test(name)))
    .sort();
}

/** The folder in which the answer store keeps its segments. */
export function segmentsFolder(stateDir: string): string {
  return join(stateDir, 'reuse', 'segments');
}

/** The names of the segments' files. */
export function segmentFiles(stateDir: string): readonly string[] {
  return namesIn(segmentsFolder(stateDir)).filter((name) => name.endsWith('.seg'));
}
