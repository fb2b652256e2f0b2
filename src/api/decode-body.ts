/**
 * Undoes the content coding of a reply. None is asked for, but a proxy or a service may compress all the same (RFC 9110,
 * 12.5.3), and an upload whose reply cannot be read would be paid for and unknown.
 */
import { pipeline, type Transform } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { MalformedReplyError } from '../streams/malformed-reply-error.js';
import { AttemptError } from './failure.js';

const DECODERS: ReadonlyMap<string, () => Transform> = new Map([
  ['gzip', createGunzip],
  ['x-gzip', createGunzip],
  ['deflate', createInflate],
  ['br', createBrotliDecompress],
]);

/**
 * @param coding the reply's header `content-encoding`.
 * @returns the same body if it has no coding, or one that is not known here.
 */
export function decodeBody(body: AsyncIterable<Buffer>, coding: string | undefined): AsyncIterable<Buffer> {
  const name = coding?.trim().toLowerCase() ?? '';
  const createDecoder = DECODERS.get(name);
  return createDecoder === undefined ? body : decoded(body, createDecoder(), name);
}

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
