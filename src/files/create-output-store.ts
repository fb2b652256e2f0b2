/** The output store of a config: names at `s3://` are objects in a store, all others are paths on this machine. */
import { isS3 } from '../config/s3-address.js';
import type { Config } from '../config/schema.js';
import { createLocalOutputStore } from './local-output-store.js';
import type { OutputStore } from './output-store.js';
import { createS3OutputStore } from './s3/s3-output-store.js';

/**
 * Both kinds of names work, whatever `output.path` is: an earlier publication may be elsewhere.
 * @param options.signal ends requests to a store.
 * @param options.attempts how often a request is made before its error is told.
 */
export function createOutputStore(
  { output, timeouts }: Pick<Config, 'output' | 'timeouts'>,
  options: { readonly signal?: AbortSignal; readonly attempts?: number } = {},
): OutputStore {
  const local = createLocalOutputStore();
  const { connect: connectMs, idle: idleMs } = timeouts;
  const s3 = createS3OutputStore({ ...output.s3, connectMs, idleMs, ...options });
  const of = (name: string) => (isS3(name) ? s3 : local);
  return {
    put: (localFile, name, mode) => of(name).put(localFile, name, mode),
    identity: (name) => of(name).identity(name),
    read: (name, bytes) => of(name).read(name, bytes),
    stream: (name) => of(name).stream(name),
    remove: (name) => of(name).remove(name),
    check: (names, sources, own) => of(names.output).check(names, sources, own),
    checkWritable: (names) => of(names.output).checkWritable(names),
    prepare: (names) => of(names.output).prepare(names),
  };
}
