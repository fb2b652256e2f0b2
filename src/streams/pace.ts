/** Detects a sender whose bytes keep coming, but too slowly: otherwise the wait might never end. */
import type { Bytes, Milliseconds } from '../types.js';

/** Slower than any line over which a chunk could be uploaded within the default `timeouts.upload`. */
const LEAST_BYTES_PER_SECOND = 8 * 1024;

/**
 * Passes pieces on. Only the time spent waiting for them counts, and each period of it must bring the least rate. Content
 * that is complete within one period is never too slow.
 * @param period Infinity: any speed is accepted.
 * @param clock monotonic.
 * @throws an error with the code `REPLY_TOO_SLOW`.
 */
export async function* paced<Piece extends Uint8Array>(
  pieces: AsyncIterable<Piece>,
  period: Milliseconds,
  clock: { now(): Milliseconds },
): AsyncGenerator<Piece> {
  let waited: Milliseconds = 0;
  let bytes: Bytes = 0;
  let askedAt = clock.now();
  for await (const piece of pieces) {
    bytes += piece.length;
    waited += clock.now() - askedAt;
    if (waited >= period) {
      if (bytes * 1000 < waited * LEAST_BYTES_PER_SECOND) throw tooSlow(bytes, waited);
      waited = 0;
      bytes = 0;
    }
    yield piece;
    // The time that the consumer takes does not count.
    askedAt = clock.now();
  }
}

function tooSlow(bytes: Bytes, waited: Milliseconds): Error {
  const seconds = Math.round(waited / 1000);
  const message = `the reply is too slow: ${bytes} B in ${seconds}s`;
  return Object.assign(new Error(message), { code: 'REPLY_TOO_SLOW' });
}
