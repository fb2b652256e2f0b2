/** Whether what came back beside the key speaks for the key: which records it does not tell apart, which it denies. */
import { MismatchError } from '../errors.js';
import type { RecordBlock } from '../source/record-block.js';
import type { ColumnKind, ColumnKinds, FileStatus } from '../types.js';
import { foldText, resultText, type SentField, sentText } from './echo-kinds.js';
import { answerOf } from './join-by-echo.js';
import type { Joined } from './joined.js';

export const bothKinds: readonly FileStatus[] = ['SUCCESSFUL', 'FAILED'];

/** Places of the records whose results are in parts of these kinds, ascending. */
export function placesOf(
  joined: Pick<Joined, 'parts' | 'part'>,
  records: Pick<RecordBlock, 'count'>,
  statuses: readonly FileStatus[],
): readonly number[] {
  const isOne = joined.parts.map(({ reference }) => statuses.includes(reference.fileStatus));
  return Array.from({ length: records.count }, (_, i) => i).filter((i) => isOne[joined.part[i]!]);
}

/**
 * Places of records that could as well have each other's different results: their echoes are equal. Not counted are
 * records that are equal in all that was sent, for which it makes no difference, and parts with nothing but the key.
 */
export function indistinctEchoes(
  joined: Joined,
  records: RecordBlock,
  fields: readonly SentField[],
  kinds: Readonly<Record<FileStatus, ColumnKinds>>,
  statuses: readonly FileStatus[],
  key: string,
): ReadonlySet<number> {
  const indistinct = new Set<number>();
  // A success and a failure may have been exchanged too.
  const hasBoth = bothKinds.every((status) => Object.keys(kinds[status]).length > 0);
  for (const group of [...statuses.map((status) => [status]), ...(hasBoth ? [bothKinds] : [])]) {
    const cameBack = group.map((status) => kinds[status]);
    if (cameBack.every((some) => Object.keys(some).length === 0)) continue;
    const kindOf = ({ column }: SentField) => {
      const found = cameBack.map(({ [column]: kind }) => kind);
      return found.includes('folded') ? 'folded' : found.find((kind) => kind === 'exact');
    };
    const echoes = fields.filter((field) => kindOf(field) !== undefined);
    const notCompared = new Set([key, ...echoes.map(({ column }) => column)]);
    const echoedAs = (place: number) =>
      echoes.map((field) => sentAs(kindOf(field), records, place, field)).join('\0');
    const sentOf = (place: number) =>
      fields.map((field) => sentAs('exact', records, place, field)).join('\0');
    for (const places of groupBy(placesOf(joined, records, group), echoedAs).values()) {
      if (places.length === 1 || new Set(places.map(sentOf)).size === 1) continue;
      const answers = new Set(places.map((place) => answerOf(joined, place, notCompared)));
      if (answers.size > 1) for (const place of places) indistinct.add(place);
    }
  }
  return indistinct;
}

/**
 * A failed part may answer in a column that was sent, but not with what was sent of another record, unless an echo
 * tells the two apart. What many records have in common, such as a state, may be the service's correction.
 * @param kinds of the columns in failed parts.
 * @throws UntrustedError `ECHO_UNPROVEN`.
 */
export function checkNoOthers(
  joined: Joined,
  records: RecordBlock,
  fields: readonly SentField[],
  kinds: ColumnKinds,
): void {
  const echoes = echoesAmong(fields, kinds);
  const failed = placesOf(joined, records, ['FAILED']);
  const isAlike = (some: number, other: number) =>
    echoes.every((echo) => {
      const kind = kinds[echo.column];
      return sentAs(kind, records, some, echo) === sentAs(kind, records, other, echo);
    });
  for (const field of fields.filter(({ column }) => kinds[column] === 'answer')) {
    const all = Array.from({ length: records.count }, (_, i) => i);
    const places = groupBy(all, (place) => sentAs('folded', records, place, field));
    for (const place of failed) {
      const table = joined.parts[joined.part[place]!]!;
      const at = table.columns.indexOf(field.column);
      const back = at < 0 ? '' : foldText(resultText(table, joined.result[place]!, at));
      const others = back === '' ? [] : (places.get(back) ?? []);
      if (others.includes(place) || others.length > Math.max(1, records.count / 20)) continue;
      const other = others.find((one) => isAlike(one, place));
      if (other !== undefined) throw denied(field.column, records.numbers[place]!, records.numbers[other]!);
    }
  }
}

function denied(column: string, record: number, other: number): MismatchError {
  return new MismatchError(
    'ECHO_UNPROVEN',
    `a failed result has the number of record ${record} and the ${column} of record ${other}, so nothing tells which of them it belongs to`,
    { hint: 'nothing more is uploaded; ask the service provider what its results hold' },
  );
}

function echoesAmong(fields: readonly SentField[], kinds: ColumnKinds): readonly SentField[] {
  return fields.filter(({ column }) => kinds[column] === 'exact' || kinds[column] === 'folded');
}

function sentAs(
  kind: ColumnKind | undefined,
  records: RecordBlock,
  place: number,
  { sourceField }: SentField,
): string {
  const text = sentText(records, place, sourceField);
  return kind === 'folded' ? foldText(text) : text;
}

function groupBy(places: readonly number[], keyOf: (place: number) => string): Map<string, number[]> {
  const groups = new Map<string, number[]>();
  for (const place of places) {
    const key = keyOf(place);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [place]);
    else group.push(place);
  }
  return groups;
}
