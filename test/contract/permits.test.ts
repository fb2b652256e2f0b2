/** The contract of permits, for those of one process. */
import { createPermits, permitName } from '../../src/streams/permits.js';
import { turns } from '../helpers/streams/gates.js';
import { permitsContract } from './permits-contract.js';

permitsContract('of a process', async (count) => {
  const permits = createPermits(count);
  const nameOf = (chunk: number) => permitName('run', chunk);
  return {
    permits,
    nameOf,
    begin: async () => undefined,
    accept: async (chunk) => void permits.opened!(nameOf(chunk)),
    drop: async () => undefined,
    finish: async (chunk) => void permits.release(nameOf(chunk)),
    waits: () => turns(),
  };
});
