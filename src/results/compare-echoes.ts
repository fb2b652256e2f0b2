/**
 * Compares every echo of a joined chunk with what was sent with its record. The kernel does so for every record of every
 * chunk, and reports only values that differ. Example: `name` is an `exact` echo, record 7 was sent with `Bakery`, and its
 * result has
 *
 * - `BAKERY`: from now on the column is a `folded` echo.
 * - `Harbor`: the result is strange, and the chunk does not match.
 */
import { type EchoExports, EchoKernel, type EchoPart, type FieldPair } from '../csv/kernel/echo-kernel.js';
import { TableMemory } from '../csv/kernel/table-memory.js';
import { fieldValue } from '../csv/table.js';
import { MismatchError } from '../errors.js';
import type { RecordBlock } from '../source/record-block.js';
import type { ColumnKinds, FileStatus } from '../types.js';
import { foldText, kindOf, type SentField } from './column-kinds.js';
import { type Matches, Mismatches } from './join-method.js';
import type { PartTable } from './part-table.js';

/**
 * Compares every echo of a joined chunk with the value that was sent. A different value is a strange result.
 * @param kinds of the columns in parts of each status; answers are not compared.
 * @returns for each status: the columns in which a text came back with other case, blanks or Unicode form.
 * @throws ContradictionError `RESULTS_DO_NOT_MATCH` naming records and columns.
 */
export type CompareEchoes = (
  records: RecordBlock,
  matches: Matches,
  fields: readonly SentField[],
  kinds: Readonly<Record<FileStatus, ColumnKinds>>,
) => Readonly<Record<FileStatus, ReadonlySet<string>>>;

/** Echoes that differ from what was sent. */
export class ContradictionError extends MismatchError {
  constructor(
    error: MismatchError,
    readonly columns: readonly string[],
  ) {
    super(error.code, error.message, { facts: error.facts, cause: error });
  }
}

/** Compares in its own memory, which it frees afterwards. */
export const compareEchoes: CompareEchoes = (...chunk) => {
  const tables = new TableMemory<EchoExports>();
  try {
    return createEchoComparer(new EchoKernel(tables))(...chunk);
  } finally {
    tables.release();
  }
};

/** @param kernel shares its memory with the writer of the same chunk's rows, so that tables are loaded once. */
export function createEchoComparer(kernel: EchoKernel): CompareEchoes {
  return (records, matches, fields, kinds) => {
    const parts = matches.parts.map((table) => echoPart(table, fields, kinds[table.reference.fileStatus]));
    const folded = { SUCCESSFUL: new Set<string>(), FAILED: new Set<string>() };
    const mismatches = new Mismatches();
    const changed = new Set<string>();
    kernel.compare(records, parts, matches, (record, pair) => {
      const part = matches.part[record]!;
      const table = matches.parts[part]!;
      const { sentField, resultField } = parts[part]!.pairs[pair]!;
      const sent = fieldValue(records, record, sentField);
      const returned = fieldValue(table, matches.result[record]!, resultField);
      const column = table.columns[resultField]!;
      if (foldText(sent) === foldText(returned)) {
        folded[table.reference.fileStatus].add(column);
        return;
      }
      changed.add(column);
      const shown = JSON.stringify(returned.slice(0, 40));
      mismatches.add('strange', `${column} ${shown} of record ${records.numbers[record]}`);
    });
    const contradiction = mismatches.error();
    if (contradiction !== undefined) throw new ContradictionError(contradiction, [...changed]);
    return folded;
  };
}

/** A part with the pairs of fields to compare. */
function echoPart(table: PartTable, fields: readonly SentField[], kinds: ColumnKinds): EchoPart {
  const pairs = fields.flatMap(({ column, sourceField }): readonly FieldPair[] => {
    const resultField = table.columns.indexOf(column);
    const kind = kindOf(kinds, column);
    if (resultField < 0 || kind === undefined || kind === 'answer') return [];
    return [{ sentField: sourceField, resultField, isFolded: kind === 'folded' }];
  });
  const { bytes, count, fields: width, starts, ends } = table;
  return { bytes, count, fields: width, starts, ends, pairs };
}
