/**
 * Joins results to records by the tuple of the echoed columns: byte by byte, or in folded columns without case and
 * blanks. Records with equal tuples get their results in order. They count as indistinct if their results differ.
 */
import { type MatchExports, MatchKernel, type TupleTable, tupleText } from '../csv/kernel/match-kernel.js';
import { TableMemory } from '../csv/kernel/table-memory.js';
import { fieldValue } from '../csv/table.js';
import type { RecordBlock } from '../source/record-block.js';
import { type EchoedColumn, foldText } from './column-kinds.js';
import { type Joined, type Matches, Mismatches } from './join-method.js';
import type { PartTable } from './part-table.js';

/**
 * @param tables shared with the writer of the same chunk's rows, so that they are loaded once; left out: the join has its
 *   own memory, which is freed afterwards.
 * @throws UntrustedError `RESULTS_DO_NOT_MATCH` naming missing, doubled and strange results.
 */
export function joinByEcho(
  parts: readonly PartTable[],
  echoed: readonly EchoedColumn[],
  records: RecordBlock,
  tables?: TableMemory<MatchExports>,
): Joined {
  if (tables !== undefined) return join(parts, echoed, records, new MatchKernel(tables));
  const own = new TableMemory<MatchExports>();
  try {
    return join(parts, echoed, records, new MatchKernel(own));
  } finally {
    own.release();
  }
}

function join(
  parts: readonly PartTable[],
  echoed: readonly EchoedColumn[],
  records: RecordBlock,
  kernel: MatchKernel,
): Joined {
  const foldOf = ({ isFolded }: EchoedColumn) => (isFolded ? foldText : null);
  const sent = echoed.map((one) => ({ field: one.sourceField, fold: foldOf(one) }));
  const returned = parts.map((table): TupleTable => {
    const chosen = echoed.map((one) => ({ field: table.columns.indexOf(one.column), fold: foldOf(one) }));
    return { ...table, chosen };
  });
  const { part, result, first, unmatched, unequal } = kernel.match(
    { ...records, chosen: sent },
    returned,
    layoutsOf(parts),
  );

  const mismatches = new Mismatches();
  for (const one of unmatched) {
    if (one.first >= 0) mismatches.add('doubled', `record ${records.numbers[one.first]}`);
    else {
      const tuple = tupleText(returned[one.part]!, one.result).replaceAll('\0', ' | ');
      mismatches.add('strange', JSON.stringify(tuple.slice(0, 80)));
    }
  }
  for (let row = part.indexOf(-1); row >= 0; row = part.indexOf(-1, row + 1)) {
    mismatches.add('missing', `record ${records.numbers[row]}`);
  }
  mismatches.check();
  const matches = { parts, part, result };
  const columns = new Set(echoed.map(({ column }) => column));
  return { ...matches, indistinct: findIndistinct(matches, first, unequal, columns) };
}

/** A number for each part; parts with equal status and columns have the same number. */
function layoutsOf(parts: readonly PartTable[]): readonly number[] {
  const layouts = parts.map(({ reference, columns }) => JSON.stringify([reference.fileStatus, columns]));
  return layouts.map((layout) => layouts.indexOf(layout));
}

/** @param first, unequal as in `TupleMatches`. */
function findIndistinct(
  matches: Matches,
  first: Int32Array,
  unequal: readonly number[],
  echoed: ReadonlySet<string>,
): ReadonlySet<number> {
  const differing = new Set<number>();
  const texts = new Map<number, string>();
  for (const record of unequal) {
    const group = first[record]!;
    if (differing.has(group)) continue;
    const text = texts.get(group) ?? answerText(matches, group, echoed);
    texts.set(group, text);
    if (answerText(matches, record, echoed) !== text) differing.add(group);
  }
  if (differing.size === 0) return differing;
  return new Set([...first.keys()].filter((record) => differing.has(first[record]!)));
}

/**
 * The result of a record without the echoed columns, as one text to compare: values by column name.
 *
 * @param record its index in the block.
 */
export function answerText(matches: Matches, record: number, echoed: ReadonlySet<string>): string {
  const table = matches.parts[matches.part[record]!]!;
  const result = matches.result[record]!;
  const values = table.columns.map((column, field) =>
    echoed.has(column) ? '' : `${column}:${fieldValue(table, result, field)}`,
  );
  return `${table.reference.fileStatus}\0${values.sort().join('\0')}`;
}
