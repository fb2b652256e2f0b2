/**
 * What a chunk's results return of what was sent, and whether it is enough for the run's join method. Rule "Join by key,
 * and prove it": docs/architecture.md#join-by-key-and-prove-it.
 */
import { UntrustedError } from '../errors.js';
import type { FileStatus, JoinMethod } from '../types.js';
import type { PartTable } from './part-table.js';

/** The columns of the uploaded file. */
export interface SentColumns {
  /** Name of the record number's column; null where none is sent. */
  readonly key: string | null;
  /** Names of the others. */
  readonly columns: readonly string[];
}

/** What comes back in all parts of a chunk that hold results. */
export interface ReturnedColumns {
  /** Whether the key does. */
  readonly key: boolean;
  /** The sent columns that do, in the order in which they were sent. */
  readonly columns: readonly string[];
}

export function returnedColumns(parts: readonly PartTable[], sent: SentColumns): ReturnedColumns {
  const filled = parts.filter((part) => part.count > 0);
  const isReturned = (column: string) => filled.every((part) => part.columns.includes(column));
  return { key: sent.key !== null && isReturned(sent.key), columns: sent.columns.filter(isReturned) };
}

/**
 * Checks that a chunk can be joined by the method that the first finished chunk fixed: more may come back, but not less.
 *
 * @throws UntrustedError `JOIN_WEAKER`.
 */
export function checkJoinMethod(fixed: JoinMethod, found: ReturnedColumns): void {
  if (found.key) return;
  if (fixed.by === 'echo' && fixed.columns.every((column) => found.columns.includes(column))) return;
  throw weaker(
    fixed.by === 'key' ? `the key ${fixed.column}` : `the columns ${fixed.columns.join(', ')}`,
    found.columns.length === 0 ? 'none of what was sent' : `only the columns ${found.columns.join(', ')}`,
  );
}

/**
 * Checks that each column that was an echo so far comes back in every part of the same status.
 *
 * @throws UntrustedError `JOIN_WEAKER`.
 */
export function checkEchoes({ judged }: JoinMethod, parts: readonly PartTable[]): void {
  for (const { reference, columns, count } of parts) {
    const kinds = judged?.kinds[reference.fileStatus] ?? {};
    const gone = Object.keys(kinds).filter((name) => kinds[name] !== 'answer' && !columns.includes(name));
    if (count > 0 && gone.length > 0) {
      throw weaker(
        `the columns ${echoesOf(kinds)}`,
        `without ${gone.join(', ')}${inPart(reference.fileStatus)}`,
      );
    }
  }
}

function echoesOf(kinds: Readonly<Record<string, string>>): string {
  return Object.keys(kinds)
    .filter((name) => kinds[name] !== 'answer')
    .join(', ');
}

function inPart(status: FileStatus): string {
  return status === 'FAILED' ? ' in a failed part' : '';
}

function weaker(before: string, now: string): UntrustedError {
  return new UntrustedError('JOIN_WEAKER', `results came back with ${before} so far, and now with ${now}`, {
    hint: 'ask the service provider why its results changed; what was bought is kept',
  });
}
