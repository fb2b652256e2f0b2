/**
 * Changes of the port that are the same in both databases. Each is written once, as the statements of a transaction: a
 * generator that asks for one after the other, and is given the rows that each returns.
 */
import { CheckpointStateError } from '../checkpoint-errors.js';

/** A statement with `@name` for each value. */
export interface Asked {
  readonly sql: string;
  readonly values: Readonly<Record<string, string | number | null | Uint8Array>>;
}

export type Change<R> = Generator<Asked, R, readonly unknown[]>;

/** Makes a method of the port, which is one transaction, from a change. */
export type MakeChange = <A extends unknown[], R>(
  change: (...args: A) => Change<R>,
) => (...args: A) => Promise<R>;

/** @returns the rows of a statement; none unless it selects or returns some. */
export function* ask<Row>(sql: string, values: Asked['values']): Change<readonly Row[]> {
  return (yield { sql, values }) as readonly Row[];
}

/**
 * The first row of a statement.
 * @throws CheckpointStateError as `expectRow`.
 */
export function* askForRow<Row>(
  sql: string,
  values: Asked['values'],
  method: string,
  missing: string,
): Change<Row> {
  const [row] = yield* ask<Row>(sql, values);
  return expectRow(row, method, missing);
}

/**
 * Throws unless a change has found its row; within a transaction, this rolls it back.
 * @param method the method of the port, for the message.
 * @param missing what is wrong if there is none, for the message.
 * @throws CheckpointStateError
 */
export function expectRow<Row>(row: Row | undefined, method: string, missing: string): Row {
  if (row === undefined) throw new CheckpointStateError(method, missing);
  return row;
}
