/** The port over plain objects: the model that the contract suite and the property test hold SQLite to. */
import { setImmediate } from 'node:timers/promises';
import type { Checkpoint } from '../../../src/checkpoint/checkpoint.js';
import { memoryCutChanges } from './memory-cut-changes.js';
import { memoryMergeChanges } from './memory-merge-changes.js';
import { memoryPublicationChanges } from './memory-publication-changes.js';
import { memoryReads } from './memory-reads.js';
import { memoryResultChanges } from './memory-result-changes.js';
import { memoryRoundChanges } from './memory-round-changes.js';
import { memoryRunChanges } from './memory-run-changes.js';
import type { Memory } from './memory-state.js';
import { memoryUploadChanges } from './memory-upload-changes.js';

/**
 * Makes an empty checkpoint that lives as long as the object.
 * @param options.takesTime whether a change is made only after a turn of the event loop, as on a server: code that does
 *   not wait for it goes on before it.
 */
export function createMemoryCheckpoint({ takesTime = false } = {}): Checkpoint {
  const memory: Memory = {
    runs: new Map(),
    singles: new Map(),
    columns: new Map(),
    segments: [],
    published: new Map(),
    loads: new Map(),
    outputUploads: new Map(),
  };
  const made = asPromised({
    ...memoryReads(memory),
    ...memoryRunChanges(memory),
    ...memoryCutChanges(memory),
    ...memoryUploadChanges(memory),
    ...memoryResultChanges(memory),
    ...memoryRoundChanges(memory),
    ...memoryMergeChanges(memory),
    ...memoryPublicationChanges(memory),
    verifyPaid: (): 'whole' => 'whole',
    close() {},
  });
  return takesTime ? slowChanges(made) : made;
}

function slowChanges(checkpoint: Checkpoint): Checkpoint {
  const slow = Object.entries(checkpoint).map(([name, method]) => [
    name,
    async (...args: never[]) => {
      if (name.startsWith('record')) await setImmediate();
      return (method as (...given: never[]) => unknown)(...args);
    },
  ]);
  return Object.fromEntries(slow) as Checkpoint;
}

type Methods = Record<string, (...args: never[]) => unknown>;
type Promised<T extends Methods> = {
  [K in keyof T]: (...args: Parameters<T[K]>) => Promise<ReturnType<T[K]>>;
};

/** The same methods returning promises of copies, so that no caller holds the memory itself. */
function asPromised<T extends Methods>(methods: T): Promised<T> {
  const wrapped = Object.entries(methods).map(([name, method]) => [
    name,
    async (...args: never[]) => structuredClone(method(...args)),
  ]);
  return Object.fromEntries(wrapped) as Promised<T>;
}
