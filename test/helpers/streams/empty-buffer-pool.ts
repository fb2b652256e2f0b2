/** Empties the buffer pool, which earlier tests of the same process have filled. */
import { takeBuffer } from '../../../src/streams/buffer-pool.js';

const STEP_BYTES = 256 * 1024;

/** Takes all buffers of up to 2 MiB. */
export function emptyBufferPool(): void {
  for (let size = STEP_BYTES; size <= 8 * STEP_BYTES; size += STEP_BYTES) {
    for (let times = 0; times < 10; times++) takeBuffer(size);
  }
}
