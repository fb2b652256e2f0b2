/**
 * Judges the sent columns that come back: an echo holds what was sent, an answer holds anything else. If results are
 * already matched, compares record by record; otherwise compares all values of a column, in any order. Rule "Join by
 * key, and prove it": docs/architecture.md#join-by-key-and-prove-it.
 */
import { type EchoExports, EchoKernel, type EchoPart, type FieldPair } from '../csv/kernel/echo-kernel.js';
import { TableMemory } from '../csv/kernel/table-memory.js';
import { fieldValue, isEqualField } from '../csv/table.js';
import { MismatchError } from '../errors.js';
import type { RecordBlock } from '../source/record-block.js';
import type { ColumnKind, ColumnKinds, FileStatus } from '../types.js';
import { type Matches, Mismatches } from './join-method.js';
import type { PartTable } from './part-table.js';

/** A sent column. */
export interface SentField {
  /** Its name in the uploaded file and in the parts. */
  readonly column: string;
  /** Index of its field in the records. */
  readonly sourceField: number;
}

/** The kind of a column in parts of one status, from results that were matched without this column. */
export function kindByMatches(
  matches: Matches,
  status: FileStatus,
  { column, sourceField }: SentField,
  records: RecordBlock,
): ColumnKind {
  const fields = matches.parts.map(({ reference, columns }) =>
    reference.fileStatus === status ? columns.indexOf(column) : -1,
  );
  let kind: ColumnKind = 'exact';
  for (let i = 0; i < records.count; i++) {
    const part = matches.part[i]!;
    const field = fields[part]!;
    if (field < 0) continue;
    const sent = fieldValue(records, i, sourceField);
    const returned = fieldValue(matches.parts[part]!, matches.result[i]!, field);
    if (sent === returned) continue;
    if (foldText(sent) !== foldText(returned)) return 'answer';
    kind = 'folded';
  }
  return kind;
}

/**
 * The kind of a column, from all its values in any order.
 *
 * @param parts each of them has the column.
 * @param indexes of the records to which the results belong; default: all records.
 */
export function kindByValues(
  parts: readonly PartTable[],
  { column, sourceField }: SentField,
  records: RecordBlock,
  indexes: readonly number[] = Array.from({ length: records.count }, (_, i) => i),
): ColumnKind {
  const sent = indexes.map((i) => fieldValue(records, i, sourceField));
  const returned = parts.flatMap((table) => {
    const field = table.columns.indexOf(column);
    return Array.from({ length: table.count }, (_, row) => fieldValue(table, row, field));
  });
  if (haveSameTexts(sent, returned)) return 'exact';
  return haveSameTexts(sent.map(foldText), returned.map(foldText)) ? 'folded' : 'answer';
}

function haveSameTexts(some: readonly string[], others: readonly string[]): boolean {
  if (some.length !== others.length) return false;
  const left = new Map<string, number>();
  for (const text of some) left.set(text, (left.get(text) ?? 0) + 1);
  for (const text of others) {
    const count = left.get(text) ?? 0;
    if (count === 0) return false;
    left.set(text, count - 1);
  }
  return true;
}

/**
 * Whether a sent column has more than one value among these records.
 *
 * @param indexes of the records in the block.
 * @param isFolded whether values that differ only in case, blanks and Unicode form count as equal.
 */
export function hasSeveralValues(
  records: RecordBlock,
  indexes: readonly number[],
  sourceField: number,
  isFolded: boolean,
): boolean {
  const textAt = (index: number) => {
    const text = fieldValue(records, index, sourceField);
    return isFolded ? foldText(text) : text;
  };
  const [first] = indexes;
  if (first === undefined) return false;
  const text = textAt(first);
  return indexes.some((index) => !isEqualField(records, sourceField, first, index) && textAt(index) !== text);
}

/** Makes texts equal that differ only in case, blanks and Unicode form. */
export function foldText(text: string): string {
  // Needs both cases: otherwise ß and SS, and the two small sigmas, stay different.
  const folded = text.normalize('NFC').toUpperCase().toLowerCase().normalize('NFC');
  return folded.replace(/\s+/gu, ' ').trim();
}

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
    const kind = kinds[column];
    if (resultField < 0 || kind === undefined || kind === 'answer') return [];
    return [{ sentField: sourceField, resultField, isFolded: kind === 'folded' }];
  });
  const { bytes, count, fields: width, starts, ends } = table;
  return { bytes, count, fields: width, starts, ends, pairs };
}
