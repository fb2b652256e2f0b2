/**
 * Judges the sent columns that come back (law 8): an echo holds what was sent, all else is an answer of the service.
 * Where the key tells which result is whose, by comparing; where it does not, by what all of a column holds.
 */
import { fieldText } from '../csv/write-field.js';
import type { RecordBlock } from '../source/record-block.js';
import type { ColumnKind, FileStatus } from '../types.js';
import type { Joined } from './joined.js';
import { fieldStart, type PartTable } from './part-table.js';

/** A sent column: its name in the parts, its place in the source. */
export interface SentField {
  readonly column: string;
  readonly sourceField: number;
}

/**
 * What a column is at the results that were matched by something else: of the parts of one kind, where they have it.
 */
export function kindAtMatches(
  joined: Pick<Joined, 'parts' | 'part' | 'result'>,
  status: FileStatus,
  { column, sourceField }: SentField,
  records: RecordBlock,
): ColumnKind {
  const fields = joined.parts.map(({ reference, columns }) =>
    reference.fileStatus === status ? columns.indexOf(column) : -1,
  );
  let kind: ColumnKind = 'exact';
  for (let i = 0; i < records.count; i++) {
    const at = joined.part[i]!;
    const field = fields[at]!;
    if (field < 0) continue;
    const sent = sentText(records, i, sourceField);
    const back = resultText(joined.parts[at]!, joined.result[i]!, field);
    if (sent === back) continue;
    if (foldText(sent) !== foldText(back)) return 'answer';
    kind = 'folded';
  }
  return kind;
}

/**
 * What a column that all of these parts have is, by all of its values in whatever order.
 * @param places of the records whose results these are; all where it is left out.
 */
export function kindOfAll(
  parts: readonly PartTable[],
  { column, sourceField }: SentField,
  records: RecordBlock,
  places: readonly number[] = Array.from({ length: records.count }, (_, i) => i),
): ColumnKind {
  const sent = places.map((place) => sentText(records, place, sourceField));
  const back = parts.flatMap((table) => {
    const field = table.columns.indexOf(column);
    return Array.from({ length: table.count }, (_, r) => resultText(table, r, field));
  });
  if (haveSameTexts(sent, back)) return 'exact';
  return haveSameTexts(sent.map(foldText), back.map(foldText)) ? 'folded' : 'answer';
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
 * Whether a sent column has more than one value among the records at these places.
 * @param isFolded whether values that are alike count as one.
 */
export function tellsApart(
  records: RecordBlock,
  places: readonly number[],
  sourceField: number,
  isFolded: boolean,
): boolean {
  const textAt = (place: number) => {
    const text = sentText(records, place, sourceField);
    return isFolded ? foldText(text) : text;
  };
  const [first, ...rest] = places;
  if (first === undefined) return false;
  const text = textAt(first);
  return rest.some((place) => textAt(place) !== text);
}

/** What was sent of a record. */
export function sentText(records: RecordBlock, place: number, sourceField: number): string {
  const at = place * records.fields + sourceField;
  const start = sourceField === 0 ? records.starts[place]! : records.ends[at - 1]! + 1;
  return fieldText(records.bytes, start, records.ends[at]!);
}

/** What a result has in a field. */
export function resultText(table: PartTable, result: number, field: number): string {
  const end = table.ends[result * table.columns.length + field]!;
  return fieldText(table.bytes, fieldStart(table, result, field), end);
}

// Texts that differ only in case, blanks or the form of Unicode are the same to a person.

/** Two texts are alike where this makes them equal. */
export function foldText(text: string): string {
  // Both ways: ß and SS, and the two small sigmas, meet only so.
  const folded = text.normalize('NFC').toUpperCase().toLowerCase().normalize('NFC');
  return folded.replace(/\s+/gu, ' ').trim();
}
