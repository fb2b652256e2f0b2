/** Holds a change of state to its promise: exactly one row was in the state that it leaves. */
import type { RunResult } from 'better-sqlite3';
import { CheckpointStateError } from '../checkpoint-state-error.js';

/**
 * @param result what the statement did
 * @param method the port's method, for the message
 * @param missing what was looked for and is not there
 * @throws CheckpointStateError when no row was changed; inside a transaction, which is thereby undone
 */
export function expectOne(result: RunResult, method: string, missing: string): void {
  if (result.changes !== 1) throw new CheckpointStateError(method, missing);
}
