/** Takes away what tests before, in the same process, have left in the buffer pool. */
import { takeBuffer } from '../../src/streams/buffer-pool.js';

const STEP_BYTES = 256 * 1024;

/** Of all buffers of up to 2 MiB. */
export function emptyBufferPool(): void {
  for (let size = STEP_BYTES; size <= 8 * STEP_BYTES; size += STEP_BYTES) {
    for (let times = 0; times < 10; times++) takeBuffer(size);
  }
}
