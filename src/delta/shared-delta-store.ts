/**
 * The delta store that every machine sees: files of the local store (local-delta-store.ts) under the same names. They are
 * fetched before they are read, and stored when they are written.
 */
import type { FileCache } from '../files/file-cache.js';
import type { SharedFiles } from '../files/shared-files.js';
import type { DeltaStore } from './delta-store.js';
import { createLocalDeltaStore } from './local-delta-store.js';

/**
 * A process whose lease has passed to another one changes only its own copies: what it writes gets no name.
 * @param cache the local copies of the files, which no other database shares.
 */
export function createSharedDeltaStore(shared: SharedFiles, cache: FileCache): DeltaStore {
  const local = createLocalDeltaStore(cache.pathOf(''));
  const nameOf = (pipeline: string, name: string) => `deltas/${pipeline}.d/${name}`;
  const lastName = (pipeline: string) => nameOf(pipeline, 'last.json');
  return {
    last: async (pipeline) => {
      const isThere = await cache.fetch(lastName(pipeline));
      return isThere ? cache.naming(() => local.last(pipeline)) : undefined;
    },
    recordLast: async (pipeline, last) => {
      await local.recordLast(pipeline, last);
      await cache.store(lastName(pipeline));
      const kept = [lastName(pipeline)];
      if (last.digests !== null) kept.push(nameOf(pipeline, last.digests));
      const names = (await shared.list(nameOf(pipeline, ''))).map(({ name }) => name);
      await shared.remove(names.filter((name) => !kept.includes(name)));
    },
    writeDigests: async (pipeline, name, fill) => {
      await local.writeDigests(pipeline, name, fill);
      await cache.store(nameOf(pipeline, name));
    },
    openDigests: async (pipeline, name) => {
      const isThere = await cache.fetch(nameOf(pipeline, name));
      return isThere ? local.openDigests(pipeline, name) : undefined;
    },
  };
}
