/** Reads the body of a reply: bytes must keep coming, and not too slowly. Undoes its content coding. */
import type { IncomingMessage } from 'node:http';
import { pipeline, type Transform } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { formatBytes, formatDuration } from '../quantities.js';
import { MalformedReplyError } from '../streams/malformed-reply-error.js';
import type { Milliseconds } from '../types.js';
import { AttemptError, networkFailure } from './failure.js';
import { type AwakeClock, Timeout } from './timeout.js';

interface BodyTerms {
  readonly idleTimeout: Milliseconds;
  readonly clock: AwakeClock;
  /** Makes messages safe to show. */
  readonly show: (text: string) => string;
}

/**
 * @param coding the reply's header `content-encoding`. A coding that is not known here is not undone.
 * @param isPatient whether a reply of any speed is accepted, as long as bytes keep coming.
 * @returns a body that throws AttemptError when it is cut or too slow, and MalformedReplyError when its coding is broken.
 */
export function readBody(
  reply: IncomingMessage,
  terms: BodyTerms,
  signal: AbortSignal,
  coding: string | undefined,
  isPatient: boolean,
): AsyncIterable<Buffer> {
  const body = receive(reply, terms, signal, isPatient);
  const name = coding?.trim().toLowerCase() ?? '';
  const createDecoder = DECODERS.get(name);
  return createDecoder === undefined ? body : decoded(body, createDecoder(), name);
}

async function* receive(
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

/**
 * No coding is asked for, but a proxy or a service may compress all the same (RFC 9110, 12.5.3), and an upload whose
 * reply cannot be read would be paid for and unknown.
 */
const DECODERS: ReadonlyMap<string, () => Transform> = new Map([
  ['gzip', createGunzip],
  ['x-gzip', createGunzip],
  ['deflate', createInflate],
  ['br', createBrotliDecompress],
]);

/** @throws AttemptError of the body; MalformedReplyError when it is cut, or not coded so. */
async function* decoded(
  body: AsyncIterable<Buffer>,
  decoder: Transform,
  coding: string,
): AsyncGenerator<Buffer> {
  try {
    // An error of the body reaches the loop, because `pipeline` destroys the decoder with it.
    yield* pipeline(body, decoder, () => undefined) as AsyncIterable<Buffer>;
  } catch (error) {
    if (error instanceof AttemptError) throw error;
    throw new MalformedReplyError(`the reply is said to be ${coding}, and is not, or is cut`);
  }
}
