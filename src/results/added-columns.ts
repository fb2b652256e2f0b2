/** Finds the columns that the service adds, and checks that each part has them. */
import { MismatchError, UntrustedError } from '../errors.js';
import type { ColumnKinds } from '../types.js';
import type { SentColumns } from './join-method.js';
import type { PartTable } from './part-table.js';

/**
 * The columns of a part that were not sent, in the part's order.
 *
 * @param kinds of the sent columns: a column of kind `answer` counts as added.
 */
export function addedColumns(part: PartTable, sent: SentColumns, kinds: ColumnKinds): string[] {
  return part.columns.filter(
    (column) => column !== sent.key && (!sent.columns.includes(column) || kinds[column] === 'answer'),
  );
}

/**
 * Checks that a successful part has the run's added columns.
 *
 * @param columns the run's added columns.
 * @param onChange `ignore`: checks nothing. The writer then drops unknown columns and leaves missing ones empty.
 * @throws UntrustedError `COLUMNS_CHANGED` when a part lacks a column or has an unknown one.
 */
export function checkAddedColumns(
  part: PartTable,
  sent: SentColumns,
  kinds: ColumnKinds,
  columns: readonly string[],
  onChange: 'fail' | 'add' | 'ignore',
): void {
  if (onChange === 'ignore') return;
  const added = addedColumns(part, sent, kinds);
  const missing = columns.filter((column) => !added.includes(column));
  const unknown = added.filter((column) => !columns.includes(column));
  if (missing.length === 0 && unknown.length === 0) return;
  const changes = [
    ...(missing.length > 0 ? [`missing: ${missing.join(', ')}`] : []),
    ...(unknown.length > 0 ? [`unknown so far: ${unknown.join(', ')}`] : []),
  ];
  throw new UntrustedError(
    'COLUMNS_CHANGED',
    `the service's result columns changed (${changes.join('; ')})`,
    {
      hint: 'set result.columns to the columns of today, or set result.onChange: ignore, and run again: nothing is paid again',
      facts: { part: part.reference.part },
    },
  );
}

/**
 * Checks that each successful part has at least one added column.
 *
 * @param kinds of the sent columns in successful parts.
 * @throws UntrustedError `NOTHING_PREDICTED` when a part has only the columns that were sent.
 */
export function checkPredicted(parts: readonly PartTable[], sent: SentColumns, kinds: ColumnKinds): void {
  for (const part of parts) {
    if (part.reference.fileStatus === 'FAILED' || part.count === 0) continue;
    if (addedColumns(part, sent, kinds).length > 0) continue;
    throw new MismatchError(
      'NOTHING_PREDICTED',
      `the successful results hold only what was sent (${part.columns.join(', ')}): nothing was predicted`,
      {
        hint: 'nothing more is uploaded; ask the service provider where its predictions are; if a sent column holds them, leave it out of result.echo',
        facts: { part: part.reference.part },
      },
    );
  }
}
