/** The API token of a request (interface, section 5), compared in constant time. */
import { createHash, timingSafeEqual } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import { HttpRefusal } from './http-refusal.js';
import { parameters } from './parameters.js';

/** @throws HttpRefusal 401 when the given token is missing or another. */
export type TokenCheck = (given: unknown) => void;

/** Both sides are hashed first, so that neither length nor common prefix shows in the time taken. */
export function createTokenCheck(token: string): TokenCheck {
  const expected = digest(token);
  return (given) => {
    if (typeof given !== 'string') throw new HttpRefusal(401, 'the token is missing');
    if (!timingSafeEqual(digest(given), expected)) throw new HttpRefusal(401, 'the token is not known');
  };
}

/** The token in the query or in a header named `token`; undefined where there is neither. */
export function requestToken(request: FastifyRequest): unknown {
  return parameters(request.query).token ?? request.headers.token;
}

function digest(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}
