/** Reads and checks the parameters of a request, including the token. */
import { createHash, timingSafeEqual } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import { HttpRefusal } from './http-refusal.js';

/** The members of a query or a JSON body; empty when it is not an object. */
export function parameters(given: unknown): Readonly<Record<string, unknown>> {
  return typeof given === 'object' && given !== null ? (given as Record<string, unknown>) : {};
}

/** @throws HttpRefusal 400 when the parameter is missing, empty or given more than once. */
export function requiredText(given: unknown, name: string): string {
  const value = parameters(given)[name];
  if (typeof value !== 'string' || value === '') throw new HttpRefusal(400, `${name} is missing`);
  return value;
}

/** @throws HttpRefusal 400 when the parameter is not a whole number from 0 on. */
export function requiredNumber(given: unknown, name: string): number {
  const text = requiredText(given, name);
  if (!/^\d{1,9}$/.test(text)) throw new HttpRefusal(400, `${name} is not a whole number from 0 on`);
  return Number(text);
}

/** The token in the query or in a header named `token` (interface, section 5); undefined without either. */
export function requestToken(request: FastifyRequest): unknown {
  return parameters(request.query).token ?? request.headers.token;
}

/** @throws HttpRefusal 401 when the given token is missing or wrong. */
export type TokenCheck = (given: unknown) => void;

/** Compares hashes in constant time, so that the time reveals neither the token's length nor a common prefix. */
export function createTokenCheck(token: string): TokenCheck {
  const expected = digest(token);
  return (given) => {
    if (typeof given !== 'string') throw new HttpRefusal(401, 'the token is missing');
    if (!timingSafeEqual(digest(given), expected)) throw new HttpRefusal(401, 'the token is not known');
  };
}

function digest(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}
