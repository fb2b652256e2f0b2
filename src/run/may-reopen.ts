/** Whether a run that is done could be gone on with: one that is opened and then refused would block its pipeline. */
import { changedValues, frozenValues } from '../config/frozen.js';
import { FoliopipeError } from '../errors/index.js';
import type { RunContext } from '../run-context.js';
import { hashFile } from '../streams/hash-file.js';
import { checkSource } from './check-source.js';
import { serviceIdentity } from './service.js';

/**
 * True where no other run of the pipeline is open, source and frozen values are those that it began with, and what
 * stands in the output's place, if anything, is what it has published.
 */
export async function mayReopen({
  id,
  config,
  checkpoint,
  signal,
}: Pick<RunContext, 'id' | 'config' | 'checkpoint' | 'signal'>): Promise<boolean> {
  if ((await checkpoint.unfinishedRun(config.pipeline)) !== undefined) return false;
  const run = (await checkpoint.run(id))!;
  if (changedValues(run.frozen, frozenValues(config, serviceIdentity(config))).keys.length > 0) return false;
  const found = await hashFile(config.output.path);
  if (found !== undefined && found.sha256 !== run.publication?.sha256) return false;
  try {
    const source = await checkSource(config, { signal }, run);
    return source.sha256 === run.source.sha256;
  } catch (error) {
    if (error instanceof FoliopipeError) return false;
    throw error;
  }
}
