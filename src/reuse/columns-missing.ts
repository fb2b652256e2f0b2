/** Which columns the reused answers of a run lack. */
import type { Choice } from '../types.js';

/**
 * @param choice null if the run reuses nothing.
 * @param columns the columns of the run's output that the service adds.
 * @returns for each column that an answer lacks, the number of records without it. Failed answers do not count: they
 *   have no column.
 */
export function columnsMissing(
  choice: Pick<Choice, 'columnSets'> | null,
  columns: readonly string[],
): Readonly<Record<string, number>> {
  const missing = new Map<string, number>();
  for (const set of choice?.columnSets ?? []) {
    for (const column of columns) {
      if (!set.columns.includes(column)) missing.set(column, (missing.get(column) ?? 0) + set.records);
    }
  }
  return Object.fromEntries(missing);
}
