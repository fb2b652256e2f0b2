/** Whether a run's results were joined under another `result.echo` than the config has. */
import { isDeepStrictEqual } from 'node:util';
import type { Run } from '../checkpoint/checkpoint.js';
import type { Config } from '../config/schema.js';

/** A run that has joined nothing yet is not; one of the first version had no such key. */
export function isJoinedOtherwise({ result }: Pick<Config, 'result'>, { join }: Pick<Run, 'join'>): boolean {
  return join !== null && !isDeepStrictEqual(join.judged?.declared ?? null, result.echo);
}
