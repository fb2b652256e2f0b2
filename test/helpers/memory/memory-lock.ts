/** The port to a pipeline's lock, over a plain map. */
import { type LockHolder, lockedError, type PipelineLock } from '../../../src/checkpoint/pipeline-lock.js';

/** @param held holders by pipeline; several locks over one map exclude each other, as processes do. */
export function createMemoryLock(held = new Map<string, LockHolder>()): PipelineLock {
  return {
    take: async (pipeline, holder) => {
      if (held.has(pipeline)) throw lockedError(pipeline, held.get(pipeline));
      held.set(pipeline, holder);
      let closed = false;
      return {
        close: async () => {
          if (!closed) held.delete(pipeline);
          closed = true;
        },
      };
    },
  };
}
