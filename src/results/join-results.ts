/** Joins a chunk's parts to its records and proves that nothing is missing, doubled or strange (laws 1 and 8). */
import type { JoinWay } from '../types.js';
import { joinByEcho } from './join-by-echo.js';
import { joinByKey } from './join-by-key.js';
import type { Joined } from './joined.js';
import type { PartTable } from './part-table.js';
import type { RecordBlock } from './record-block.js';

/**
 * @param sourceFields sent column name to its place among the source's columns.
 * @throws UntrustedError `RESULTS_DO_NOT_MATCH` when the proof fails.
 */
export function joinResults(
  parts: readonly PartTable[],
  way: JoinWay,
  records: RecordBlock,
  sourceFields: ReadonlyMap<string, number>,
): Joined {
  if (way.by === 'key') return joinByKey(parts, way.column, records.numbers);
  const echoed = way.columns.map((column) => ({ column, sourceField: sourceFields.get(column)! }));
  return joinByEcho(parts, echoed, records);
}
