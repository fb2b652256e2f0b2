/** Decides how a chunk's results are matched to its records (law 8): key first, echoed columns second. */
import { UntrustedError } from '../errors.js';
import type { FileStatus, JoinWay } from '../types.js';
import type { PartTable } from './part-table.js';

/** What we sent with each record: the columns of the uploaded file. */
export interface SentColumns {
  /** Name of the record number's column, or null where none is sent. */
  readonly key: string | null;
  readonly columns: readonly string[];
}

/** What all parts of a chunk that hold results give back. */
export interface GivenBack {
  readonly key: boolean;
  /** In the order in which they were sent. */
  readonly columns: readonly string[];
}

export function givenBack(parts: readonly PartTable[], sent: SentColumns): GivenBack {
  const filled = parts.filter((part) => part.count > 0);
  const isGivenBack = (column: string) => filled.every((part) => part.columns.includes(column));
  return { key: sent.key !== null && isGivenBack(sent.key), columns: sent.columns.filter(isGivenBack) };
}

/**
 * Holds a chunk to the way fixed at the first finished chunk: more may come back, and less may not.
 * @throws UntrustedError `JOIN_WEAKER` when it does.
 */
export function checkJoinWay(fixed: JoinWay, found: GivenBack): void {
  if (found.key) return;
  if (fixed.by === 'echo' && fixed.columns.every((column) => found.columns.includes(column))) return;
  throw weaker(
    fixed.by === 'key' ? `the key ${fixed.column}` : `the columns ${fixed.columns.join(', ')}`,
    found.columns.length === 0 ? 'none of what was sent' : `only the columns ${found.columns.join(', ')}`,
  );
}

/**
 * Holds the parts to the columns that were echoes so far: each comes back in every part of its kind.
 * @throws UntrustedError `JOIN_WEAKER` when one does not.
 */
export function checkEchoes({ judged }: JoinWay, parts: readonly PartTable[]): void {
  for (const { reference, columns, count } of parts) {
    const kinds = judged?.kinds[reference.fileStatus] ?? {};
    const gone = Object.keys(kinds).filter((name) => kinds[name] !== 'answer' && !columns.includes(name));
    if (count > 0 && gone.length > 0) {
      throw weaker(`the columns ${echoesOf(kinds)}`, `without ${gone.join(', ')}${of(reference.fileStatus)}`);
    }
  }
}

function echoesOf(kinds: Readonly<Record<string, string>>): string {
  return Object.keys(kinds)
    .filter((name) => kinds[name] !== 'answer')
    .join(', ');
}

function of(status: FileStatus): string {
  return status === 'FAILED' ? ' in a failed part' : '';
}

function weaker(before: string, now: string): UntrustedError {
  return new UntrustedError('JOIN_WEAKER', `results came back with ${before} so far, and now with ${now}`, {
    hint: 'ask the service provider why its results changed; what was bought is kept',
  });
}
