/** Turns the parsed service section into the one that is used: an address with a token, or neither. */
import { readFileSync } from 'node:fs';
import { readFailure } from './read-failure.js';
import type { ParsedConfig, ServiceConfig } from './schema.js';
import { Secret } from './secret.js';

/** @returns undefined where a problem was told, here or by a check before. */
export function settleService(
  service: ParsedConfig['service'],
  onProblem: (key: string, text: string) => void,
): ServiceConfig | undefined {
  const { embedded, baseUrl, legacyBaseUrl, tokenIn, requestsPerSecond } = service;
  const pace = { tokenIn, requestsPerSecond };
  if (embedded) return { ...pace, embedded, baseUrl: null, legacyBaseUrl: null, token: null };
  const token = service.token ?? (service.tokenFile && readToken(service.tokenFile, onProblem));
  if (!token || baseUrl === null) return undefined;
  return { ...pace, embedded, baseUrl, legacyBaseUrl, token: new Secret(token) };
}

function readToken(path: string, onProblem: (key: string, text: string) => void): string | undefined {
  let token: string;
  try {
    token = readFileSync(path, 'utf8').trim();
  } catch (error) {
    onProblem('service.tokenFile', `${path} cannot be read: ${readFailure(error).words}`);
    return undefined;
  }
  if (/^[\x21-\x7e]+$/.test(token)) return token;
  onProblem('service.tokenFile', `${path} must hold one token of visible ASCII characters and nothing else`);
  return undefined;
}
