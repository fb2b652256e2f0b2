/** Checks the keys of a state in a database against each other, and against what one machine alone could go on with. */
import type { Sections } from './parse-sections.js';
import { isParquet } from './sections/source-section.js';
import { IN_DATABASE } from './sections/state-section.js';

/**
 * Reports what does not go together with a state in a database: what another machine could not go on with, because it is
 * kept in files of one machine.
 * @param hasStateDir whether `stateDir` is given, besides its default.
 */
export function checkState(
  { state, files, scratchDir, schedule, source }: Sections,
  hasStateDir: boolean,
  onProblem: (key: string, text: string) => void,
): void {
  if (state == null) {
    if (files !== undefined && files !== IN_DATABASE)
      onProblem('files', 'is only for a state in a database; set state, or leave it out');
    if (scratchDir != null)
      onProblem('scratchDir', 'is only for a state in a database; without state, write stateDir');
    if (schedule != null)
      onProblem(
        'schedule',
        'is kept by the workers of a fleet, whose jobs are in a database; set state, or let cron begin the run',
      );
    return;
  }
  if (hasStateDir) {
    onProblem(
      'stateDir',
      'is set in addition to state; use only one of them (what a machine can make again is in scratchDir)',
    );
  }
  const local = 'which is kept in files of one machine';
  if (source?.query != null || source?.path === '-') {
    onProblem(
      'source',
      `is copied before it is read, ${local}: write it to a file that every machine sees, and name that`,
    );
  } else if (source && isParquet(source)) {
    onProblem(
      'source.path',
      `is a Parquet file, of which a run reads a copy, ${local}: write a CSV, or leave out state`,
    );
  }
}
