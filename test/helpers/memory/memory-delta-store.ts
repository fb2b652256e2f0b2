/** What is kept of the last publications, in memory, behind the same port as the local disk. */
import type { DeltaStore, LastPublication } from '../../../src/delta/delta-store.js';

export function createMemoryDeltaStore(): DeltaStore {
  const lasts = new Map<string, LastPublication>();
  const digests = new Map<string, Map<string, Buffer>>();
  const digestsOf = (pipeline: string) => {
    const found = digests.get(pipeline) ?? new Map<string, Buffer>();
    digests.set(pipeline, found);
    return found;
  };
  return {
    last: async (pipeline) => lasts.get(pipeline),
    recordLast: async (pipeline, last) => {
      lasts.set(pipeline, structuredClone(last));
      for (const name of digestsOf(pipeline).keys()) {
        if (name !== last.digests) digestsOf(pipeline).delete(name);
      }
    },
    writeDigests: async (pipeline, name, fill) => {
      const pieces: Buffer[] = [];
      await fill((piece) => pieces.push(Buffer.from(piece)));
      digestsOf(pipeline).set(name, Buffer.concat(pieces));
    },
    openDigests: async (pipeline, name) => {
      const content = digestsOf(pipeline).get(name);
      if (content === undefined) return undefined;
      return {
        size: content.length,
        read: async (position, into) => content.copy(into, 0, position),
        close: async () => undefined,
      };
    },
  };
}
