/**
 * The output store of a config: names at `s3://` are objects in a store, all others are paths on this machine, of folders
 * if they end in `/`.
 */

import type { Config } from '../config/schema.js';
import { isFolder, isS3 } from '../config/sections/output-names.js';
import type { AtFailpoint } from '../failpoints.js';
import { createFolderOutputStore } from './folder-output-store.js';
import { createLocalOutputStore } from './local-output-store.js';
import type { OutputStore } from './output-store.js';
import { createS3OutputStore } from './s3/s3-output-store.js';
import type { BegunUploads } from './s3/upload-parts.js';

/**
 * All kinds of names work, whatever `output.path` is: an earlier publication may be elsewhere.
 * @param options.signal aborts requests to a store.
 * @param options.begunUploads keeps the ids of uploads in parts, so that they go on after a kill.
 * @param options.at called while a publication is cut into files.
 * @param options.attempts how often a request is made before its error is thrown.
 */
export function createOutputStore(
  { output, timeouts }: Pick<Config, 'output' | 'timeouts'>,
  options: {
    readonly signal?: AbortSignal | undefined;
    readonly attempts?: number | undefined;
    readonly at?: AtFailpoint | undefined;
    readonly begunUploads?: BegunUploads | undefined;
  } = {},
): OutputStore {
  const local = createLocalOutputStore();
  const folders = createFolderOutputStore(options);
  const { connect: connectMs, idle: idleMs } = timeouts;
  // Callers give more than these, such as the `endpoint` of a job, which is the service.
  const { signal, attempts, begunUploads } = options;
  const s3 = createS3OutputStore({ ...output.s3, connectMs, idleMs, signal, attempts }, begunUploads);
  const placeOf = (name: string) => (isS3(name) ? s3 : local);
  const storeOf = (name: string) => (isFolder(name) ? folders : placeOf(name));
  return {
    put: (localFile, name, mode, cut) => storeOf(name).put(localFile, name, mode, cut),
    identity: (name) => storeOf(name).identity(name),
    read: (name, bytes) => storeOf(name).read(name, bytes),
    stream: (name) => storeOf(name).stream(name),
    remove: (name) => storeOf(name).remove(name),
    check: (names, sources, own) => placeOf(names.output).check(names, sources, own),
    checkWritable: (names) => placeOf(names.output).checkWritable(names),
    prepare: (names) => placeOf(names.output).prepare(names),
    names: async (folder) => (isS3(folder) ? [] : local.names!(folder)),
    sweep: (output, pipeline, kept) => folders.sweep(output, pipeline, kept),
  };
}
