/** Reads the body of a reply in time: something must come, and not too slowly. */
import type { IncomingMessage } from 'node:http';
import { formatBytes, formatDuration } from '../quantities.js';
import type { Milliseconds } from '../types.js';
import { AttemptError, networkFailure } from './failure.js';
import { type AwakeClock, Timeout } from './timeout.js';

interface BodyTerms {
  readonly idleTimeout: Milliseconds;
  readonly clock: AwakeClock;
  /** Makes messages safe to show. */
  readonly show: (text: string) => string;
}

/** @param isPatient whether a reply of any speed is accepted, as long as bytes keep coming. */
export async function* readBody(
  reply: IncomingMessage,
  { idleTimeout, clock, show }: BodyTerms,
  signal: AbortSignal,
  isPatient: boolean,
): AsyncGenerator<Buffer> {
  const timeout = new Timeout(clock);
  const pace = new Pace(isPatient ? Number.POSITIVE_INFINITY : idleTimeout);
  const onAbort = () => reply.destroy(signal.reason);
  signal.addEventListener('abort', onAbort);
  if (signal.aborted) onAbort();
  timeout.begin(idleTimeout, () => reply.destroy(nothingCame('BODY_TIMEOUT', idleTimeout)));
  try {
    let askedAt = clock.now();
    for await (const piece of reply as AsyncIterable<Buffer>) {
      pace.add(piece.length, clock.now() - askedAt);
      timeout.pause();
      yield piece;
      timeout.resume();
      askedAt = clock.now();
    }
  } catch (error) {
    throw new AttemptError(networkFailure(error, true, show));
  } finally {
    timeout.end();
    signal.removeEventListener('abort', onAbort);
  }
}

/** Why a request ended although nothing failed. Errors and logs use these names. */
type Phase = 'CONNECT_TIMEOUT' | 'HEADERS_TIMEOUT' | 'BODY_TIMEOUT' | 'REPLY_TOO_SLOW';

function timeoutError(phase: Phase, message: string): Error {
  return Object.assign(new Error(message), { code: phase });
}

export function nothingCame(phase: Phase, time: Milliseconds): Error {
  return timeoutError(phase, `nothing came for ${formatDuration(time)}`);
}

/** Slower than any line over which a chunk could be uploaded within the default `timeouts.upload`. */
const LEAST_BYTES_PER_SECOND = 8 * 1024;

/**
 * Notices a reply whose bytes keep coming, but too slowly. Only the time in which we wait for the service counts, and
 * each period of it must reach the least rate. A reply that is whole within one period is never too slow.
 */
class Pace {
  readonly #period: Milliseconds;
  #waited: Milliseconds = 0;
  #bytes = 0;

  constructor(period: Milliseconds) {
    this.#period = period;
  }

  /**
   * @param waited how long we have waited for these bytes.
   * @throws an error with the code `REPLY_TOO_SLOW`.
   */
  add(bytes: number, waited: Milliseconds): void {
    this.#bytes += bytes;
    this.#waited += waited;
    if (this.#waited < this.#period) return;
    if (this.#bytes * 1000 < this.#waited * LEAST_BYTES_PER_SECOND) {
      const message = `the reply is too slow: ${formatBytes(this.#bytes)} in ${formatDuration(this.#waited)}`;
      throw timeoutError('REPLY_TOO_SLOW', message);
    }
    this.#waited = 0;
    this.#bytes = 0;
  }
}
