/** Whether an output still is what was published: what somebody has changed since is not to be replaced unasked. */
import type { Publication } from '../checkpoint/checkpoint.js';
import { ConfigError } from '../errors/index.js';
import { hashFile } from '../streams/hash-file.js';

/** @throws ConfigError `OUTPUT_CHANGED` when it is another file, or none. */
export async function checkPublished(run: string, { output, sha256 }: Publication): Promise<void> {
  const found = await hashFile(output.path);
  if (found?.sha256 === sha256) return;
  const how = found === undefined ? 'is not there any more' : 'is no longer what was published';
  throw new ConfigError('OUTPUT_CHANGED', `run ${run}: its output ${output.path} ${how}`, {
    hint: `keep what is there under another name, and write the output again with: foliopipe publish ${run}`,
    facts: { run, path: output.path },
  });
}
