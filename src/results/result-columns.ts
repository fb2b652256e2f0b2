/** Which columns the service adds to what we sent, and what becomes of them when they change. */
import { UntrustedError } from '../errors/index.js';
import type { ColumnKinds } from '../types.js';
import type { SentColumns } from './join-way.js';
import type { PartTable } from './part-table.js';

/**
 * The columns of a part that are not what we sent, in the part's order.
 * @param kinds of the sent columns: the service's answers among them are its own.
 */
export function addedColumns(part: PartTable, sent: SentColumns, kinds: ColumnKinds): string[] {
  return part.columns.filter(
    (column) => column !== sent.key && (!sent.columns.includes(column) || kinds[column] === 'answer'),
  );
}

/**
 * Holds the successful parts to the run's columns.
 * @param onChange `ignore` drops what is more and leaves empty what is missing.
 * @throws UntrustedError under `fail` when a part has other columns.
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
  const strange = added.filter((column) => !columns.includes(column));
  if (missing.length === 0 && strange.length === 0) return;
  const told = [
    ...(missing.length > 0 ? [`missing: ${missing.join(', ')}`] : []),
    ...(strange.length > 0 ? [`unknown so far: ${strange.join(', ')}`] : []),
  ];
  throw new UntrustedError('COLUMNS_CHANGED', `the service's result columns changed (${told.join('; ')})`, {
    hint: 'set result.columns to what is right now, or result.onChange: ignore, and run again: nothing is paid again',
    facts: { part: part.reference.part },
  });
}
