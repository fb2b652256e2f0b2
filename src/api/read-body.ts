/** Reads the body of a reply: bytes must keep coming, and not too slowly. Undoes its content coding. */
import type { IncomingMessage } from 'node:http';
import { pipeline, type Transform } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { formatDuration } from '../quantities.js';
import { MalformedReplyError } from '../streams/malformed-reply-error.js';
import { paced } from '../streams/pace.js';
import type { Bytes, Milliseconds } from '../types.js';
import { AttemptError, networkFailure } from './failure.js';
import { type AwakeClock, Timeout } from './timeout.js';

interface BodyTerms {
  readonly idleTimeout: Milliseconds;
  readonly clock: AwakeClock;
  /** Makes messages safe to show. */
  readonly show: (text: string) => string;
}

/**
 * @param coding the reply's header `content-encoding`. A body with an unknown coding is returned as it is.
 * @param isPatient whether a reply of any speed is accepted, as long as bytes keep coming.
 * @returns a body that throws AttemptError when it is cut or too slow, and MalformedReplyError when it cannot be
 *   decoded.
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
  const period = isPatient ? Number.POSITIVE_INFINITY : idleTimeout;
  const onAbort = () => reply.destroy(signal.reason);
  signal.addEventListener('abort', onAbort);
  if (signal.aborted) onAbort();
  timeout.begin(idleTimeout, () => reply.destroy(nothingCame('BODY_TIMEOUT', idleTimeout)));
  try {
    for await (const piece of paced(reply as AsyncIterable<Buffer>, period, clock)) {
      timeout.pause();
      yield piece;
      timeout.resume();
    }
  } catch (error) {
    throw new AttemptError(networkFailure(error, true, show));
  } finally {
    timeout.end();
    signal.removeEventListener('abort', onAbort);
  }
}

/** @param phase in which nothing arrived in time. Errors and logs use these names. */
export function nothingCame(
  phase: 'CONNECT_TIMEOUT' | 'HEADERS_TIMEOUT' | 'BODY_TIMEOUT',
  time: Milliseconds,
): Error {
  return Object.assign(new Error(`nothing came for ${formatDuration(time)}`), { code: phase });
}

/**
 * No coding is asked for, but a proxy or a service may compress anyway (RFC 9110, 12.5.3), and an upload whose
 * reply cannot be read would be paid for and unknown.
 */
const DECODERS: ReadonlyMap<string, () => Transform> = new Map([
  ['gzip', createGunzip],
  ['x-gzip', createGunzip],
  ['deflate', createInflate],
  ['br', createBrotliDecompress],
]);

/** The most compressed bytes in a row without content: the limits on the size of a reply count only its content. */
const MAX_EMPTY_BYTES: Bytes = 1024 * 1024;

/** @throws AttemptError of the body; MalformedReplyError when it is cut, not coded so, or has no content. */
async function* decoded(
  body: AsyncIterable<Buffer>,
  decoder: Transform,
  coding: string,
): AsyncGenerator<Buffer> {
  let empty: Bytes = 0;
  const limited = async function* () {
    for await (const piece of body) {
      empty += piece.length;
      if (empty > MAX_EMPTY_BYTES) throw new MalformedReplyError(`the reply, in ${coding}, does not end`);
      yield piece;
    }
  };
  try {
    // An error of the body reaches the loop, because `pipeline` destroys the decoder with it.
    for await (const piece of pipeline(limited, decoder, () => undefined) as AsyncIterable<Buffer>) {
      empty = 0;
      yield piece;
    }
  } catch (error) {
    if (error instanceof AttemptError || error instanceof MalformedReplyError) throw error;
    throw new MalformedReplyError(`the reply claims to be ${coding}, but is not, or is cut`);
  }
}
