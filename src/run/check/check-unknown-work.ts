/** Notices rows, beside an output, of a run that the state does not know: it is another state, or an older copy. */
import { rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { CheckpointReader } from '../../checkpoint/checkpoint.js';
import type { Config } from '../../config/schema.js';
import { isS3 } from '../../config/sections/output-names.js';
import { GuardError } from '../../errors.js';
import { runOfWorkFile, workFolderOf } from '../../files/work-file.js';
import type { Logger } from '../../logger.js';
import { ignoreMissing, namesIn } from '../../streams/system-error.js';
import type { RunOptions } from '../run-options.js';

/**
 * Refuses to begin a run where the work file of another one holds rows, and the state knows no such run: what that run has
 * paid for would be paid for again. With `yes` the file is removed: its own state can write it again.
 * @param config with the path of the run.
 * @param reader undefined if there is no state yet.
 * @param isPlan whether nothing may be removed.
 * @throws GuardError `STATE_BEHIND`.
 */
export async function refuseUnknownWork(
  { output: { path }, service, stateDir }: Pick<Config, 'output' | 'service' | 'stateDir'>,
  reader: Pick<CheckpointReader, 'run'> | undefined,
  { yes = false, logger }: Pick<RunOptions, 'yes'> & { readonly logger: Logger },
  isPlan = false,
): Promise<void> {
  // The embedded service costs nothing. The work file of an output in a store is in the state folder.
  if (service.embedded || isS3(path)) return;
  const folder = workFolderOf(path, stateDir);
  for (const name of namesIn(folder)) {
    const run = runOfWorkFile(name, path, stateDir);
    if (run === undefined || (await reader?.run(run)) !== undefined) continue;
    const file = join(folder, name);
    const { size = 0 } = (await stat(file).catch(ignoreMissing)) ?? {};
    if (size === 0) continue;
    const text = `${file} holds rows of run ${run}, which the state here does not know: what that run has paid for would be paid for again`;
    const facts = { path, file, run };
    if (!yes) throw new GuardError('STATE_BEHIND', text, { hint: HINT, facts });
    logger.warn(facts, `${text}; it goes on, because of --yes`);
    if (!isPlan) await rm(file, { force: true });
  }
}

const HINT =
  'if the state is in another place, name that (--state-dir), or put the newest one back (docs/backup.md), and run the same command again; if this one is right: foliopipe run --yes, which pays again and removes that file';
