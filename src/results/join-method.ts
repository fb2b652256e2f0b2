/**
 * How a chunk is joined: the sent columns that its results return, the check that they suffice for the run's method, and
 * the outcome. Rule "Join by key, and prove it": docs/architecture.md#join-by-key-and-prove-it.
 */
import { MismatchError } from '../errors.js';
import type { FileStatus, JoinMethod } from '../types.js';
import type { PartTable } from './part-table.js';

/** The columns of the uploaded file. */
export interface SentColumns {
  /** Name of the record number's column; null if it is not sent. */
  readonly key: string | null;
  /** Names of the others. */
  readonly columns: readonly string[];
}

/** The sent columns that come back in every part of a chunk that holds results. */
export interface ReturnedColumns {
  /** Whether the key comes back. */
  readonly key: boolean;
  /** The others that come back, in the order in which they were sent. */
  readonly columns: readonly string[];
}

export function returnedColumns(parts: readonly PartTable[], sent: SentColumns): ReturnedColumns {
  const filled = parts.filter((part) => part.count > 0);
  const isReturned = (column: string) => filled.every((part) => part.columns.includes(column));
  return { key: sent.key !== null && isReturned(sent.key), columns: sent.columns.filter(isReturned) };
}

/**
 * Checks that a chunk can be joined by the method that the first finished chunk fixed: it may return more columns, but
 * not fewer.
 *
 * @throws MismatchError `JOIN_WEAKER`.
 */
export function checkJoinMethod(fixed: JoinMethod, found: ReturnedColumns): void {
  if (found.key) return;
  if (fixed.by === 'echo' && fixed.columns.every((column) => found.columns.includes(column))) return;
  throw weakerError(
    fixed.by === 'key' ? `the key ${fixed.column}` : `the columns ${fixed.columns.join(', ')}`,
    found.columns.length === 0 ? 'none of what was sent' : `only the columns ${found.columns.join(', ')}`,
  );
}

/**
 * Checks that every part still returns the columns that were echoes in earlier parts of its status.
 *
 * @throws MismatchError `JOIN_WEAKER`.
 */
export function checkEchoes({ judged }: JoinMethod, parts: readonly PartTable[]): void {
  for (const { reference, columns, count } of parts) {
    const kinds = judged?.kinds[reference.fileStatus] ?? {};
    const gone = Object.keys(kinds).filter((name) => kinds[name] !== 'answer' && !columns.includes(name));
    if (count > 0 && gone.length > 0) {
      throw weakerError(
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

function weakerError(before: string, now: string): MismatchError {
  return new MismatchError('JOIN_WEAKER', `results came back with ${before} so far, and now with ${now}`, {
    hint: 'nothing is published, and the bought results are kept; ask the service provider why its results changed: when they are right, the same command fetches them again',
  });
}

/** The outcome of joining a chunk: one result for each record, or an error that names the mismatches. */
export interface Joined {
  readonly parts: readonly PartTable[];
  /** Index into `parts`, for each record of the chunk. */
  readonly part: Int32Array;
  /** Index of the result in its part, for each record of the chunk. */
  readonly result: Int32Array;
  /** Indexes of records that were sent with equal values but have different results, so that results may be swapped. */
  readonly indistinct: ReadonlySet<number>;
}

/** Which result belongs to each record. */
export type Matches = Pick<Joined, 'parts' | 'part' | 'result'>;

/** Collects mismatches for one error, which counts them and shows examples. */
export class Mismatches {
  readonly #examples = new Map<string, string[]>();
  #count = 0;

  add(kind: 'missing' | 'doubled' | 'strange', example: string): void {
    this.#count += 1;
    const examples = this.#examples.get(kind) ?? [];
    if (examples.length < 3) examples.push(example);
    this.#examples.set(kind, examples);
  }

  /** @throws MismatchError when anything was added. */
  check(): void {
    const error = this.error();
    if (error !== undefined) throw error;
  }

  error(): MismatchError | undefined {
    if (this.#count === 0) return undefined;
    const details = [...this.#examples].map(([kind, examples]) => `${kind}: ${examples.join(', ')}`);
    return new MismatchError(
      'RESULTS_DO_NOT_MATCH',
      `${this.#count} results do not match the records that were sent (${details.join('; ')})`,
      // Programs read `misfits` in the JSON form of errors, so the name must stay.
      { facts: { misfits: this.#count } },
    );
  }
}
