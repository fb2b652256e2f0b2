/**
 * Decides what one sent column holds when it comes back, from one chunk (`ColumnKind`). Sent `12 main st`:
 *
 * - `12 main st` comes back in all its results: `exact`, an echo.
 * - `12 Main  St` comes back, which is the same but for case, blanks and Unicode form: `folded`, an echo too.
 * - `12 Main Street` comes back: `answer`, because the service has changed it.
 *
 * `learn-kinds.ts` asks for each column that is new, and remembers the kinds for the run.
 */
import { fieldValue, isEqualField } from '../csv/table.js';
import type { RecordBlock } from '../source/record-block.js';
import type { ColumnKind, FileStatus } from '../types.js';
import type { Matches } from './join-method.js';
import type { PartTable } from './part-table.js';

/** A sent column, other than the key. */
export interface SentField {
  /** Its name in the uploaded file and in the parts. */
  readonly column: string;
  /** Index of its field in the records. */
  readonly sourceField: number;
}

/**
 * The kind of a column in parts of one status, from results that were matched without this column: compares record by
 * record.
 */
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
 * The kind of a column before results are matched: compares all its values with all that were sent, in any order. An echo
 * has the same ones.
 *
 * @param parts each of them has the column.
 * @param indexes of the records to which the results belong; default: all records.
 */
export function kindByValues(
  parts: readonly PartTable[],
  { column, sourceField }: SentField,
  records: RecordBlock,
  indexes: Int32Array = everyIndex(records),
): ColumnKind {
  const sent = Array.from(indexes, (i) => fieldValue(records, i, sourceField));
  const returned = parts.flatMap((table) => {
    const field = table.columns.indexOf(column);
    return Array.from({ length: table.count }, (_, row) => fieldValue(table, row, field));
  });
  if (haveSameTexts(sent, returned)) return 'exact';
  return haveSameTexts(sent.map(foldText), returned.map(foldText)) ? 'folded' : 'answer';
}

/** The indexes of all records. */
export function everyIndex({ count }: Pick<RecordBlock, 'count'>): Int32Array<ArrayBuffer> {
  const indexes = new Int32Array(count);
  for (let i = 0; i < count; i++) indexes[i] = i;
  return indexes;
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
  indexes: Int32Array,
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
