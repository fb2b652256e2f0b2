/** Empties the buffer pool, which earlier tests of the same process have filled. */
import { giveBack, takeBuffer } from '../../../src/streams/buffer-pool.js';

/** As much as the pool keeps at most. */
const ALL_BYTES = 1024 * 1024;

/** Gives back a buffer of all that the pool keeps, so that it frees all others, and takes it again. */
export function emptyBufferPool(): void {
  giveBack(takeBuffer(ALL_BYTES));
  takeBuffer(ALL_BYTES);
}
