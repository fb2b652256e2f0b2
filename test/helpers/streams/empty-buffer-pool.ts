/** Empties the buffer pool, which earlier tests of the same process have filled. */
import { giveBack, takeBuffer } from '../../../src/streams/buffer-pool.js';

/** Gives back a buffer that is larger than all that is kept: the pool frees the oldest ones until it is freed too. */
export function emptyBufferPool(): void {
  giveBack(takeBuffer(16 * 1024 * 1024));
}
