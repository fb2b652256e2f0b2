/**
 * Learns, chunk after chunk, which sent columns are echoes when they come back, and which are answers. Sent `12 main st`:
 *
 * - `12 main st` comes back in all its results: `exact`, an echo.
 * - `12 Main  St` comes back, which is the same except for case, blanks and Unicode form: `folded`, an echo too.
 * - `12 Main Street` comes back: `answer`, because the service has changed it.
 *
 * Each column is judged once in parts of each status, by the first chunk that returns it:
 *
 *     { SUCCESSFUL: { name: 'exact', state: 'answer' }, FAILED: { name: 'exact' } }
 *
 * Later chunks only make an `exact` column `folded`. `join-results.ts` keeps the kinds in the run's join method.
 */
import { fieldValue, isEqualField } from '../csv/table.js';
import { MismatchError } from '../errors.js';
import type { RecordBlock } from '../source/record-block.js';
import { freeMemory } from '../streams/large-buffers.js';
import type { ColumnKind, ColumnKinds, FileStatus, Judgement } from '../types.js';
import type { Joined, Matches } from './join-method.js';
import type { PartTable } from './part-table.js';

/** A sent column, other than the key. */
export interface SentField {
  /** Its name in the uploaded file and in the parts. */
  readonly column: string;
  /** Index of its field in the records. */
  readonly sourceField: number;
}

/** A sent column by which results are matched. */
export interface EchoedColumn extends SentField {
  /** Whether texts that differ only in case, blanks and Unicode form count as equal. */
  readonly isFolded: boolean;
}

export const bothStatuses: readonly FileStatus[] = ['SUCCESSFUL', 'FAILED'];

type Kinds = Judgement['kinds'];

interface KnownKinds {
  /** The sent columns without the key column. */
  readonly fields: readonly SentField[];
  /** What earlier chunks have shown; null before the first. */
  readonly before: Kinds | null;
  /** The columns of `result.echo`; null if foliopipe judges the columns itself. */
  readonly declared: readonly string[] | null;
}

/**
 * The kinds that are known after this chunk. Judges each column that comes back for the first time.
 *
 * @param matchedBy the columns by which results were matched; null if they were matched by the key.
 * @returns `before` itself if the chunk shows nothing new.
 * @throws UntrustedError `ECHO_UNPROVEN`.
 */
export function learnKinds(
  joined: Joined,
  records: RecordBlock,
  matchedBy: readonly EchoedColumn[] | null,
  known: KnownKinds,
): Kinds {
  const SUCCESSFUL = learnInStatus('SUCCESSFUL', joined, records, matchedBy, known);
  const FAILED = learnInStatus('FAILED', joined, records, matchedBy, known);
  const { before } = known;
  return SUCCESSFUL === before?.SUCCESSFUL && FAILED === before.FAILED ? before : { SUCCESSFUL, FAILED };
}

/** The kinds in parts of one status. */
function learnInStatus(
  status: FileStatus,
  joined: Joined,
  records: RecordBlock,
  matchedBy: readonly EchoedColumn[] | null,
  { fields, before, declared }: KnownKinds,
): ColumnKinds {
  const foldedInMatch = new Set(matchedBy?.filter(({ isFolded }) => isFolded).map(({ column }) => column));
  const known = withFolded(before?.[status] ?? {}, foldedInMatch);
  const parts = joined.parts.filter(({ reference, count }) => reference.fileStatus === status && count > 0);
  const newFields = fields.filter(
    ({ column }) =>
      kindOf(known, column) === undefined && parts.some(({ columns }) => columns.includes(column)),
  );
  if (newFields.length === 0) return known;
  const found = newFields.map((field) => {
    const matched = matchedBy?.find(({ column }) => column === field.column);
    if (matched !== undefined) return [field.column, matched.isFolded ? 'folded' : 'exact'] as const;
    if (declared !== null && !declared.includes(field.column)) return [field.column, 'answer'] as const;
    const kind = kindByMatches(joined, status, field, records);
    if (kind === 'answer') {
      // A declared echo with other values counts as an echo, so that the comparison reports it as strange.
      if (declared !== null) return [field.column, 'folded'] as const;
      checkNotShuffled(joined, records, field, status);
    }
    return [field.column, kind] as const;
  });
  return { ...known, ...Object.fromEntries(found) };
}

/** The kind of a column, if it is known. A column may have a name that every object has, such as `constructor`. */
export function kindOf(kinds: ColumnKinds, column: string): ColumnKind | undefined {
  return Object.hasOwn(kinds, column) ? kinds[column] : undefined;
}

/** Turns the exact echoes among these columns into folded ones. Returns the same object if there are none. */
export function withFoldedColumns(
  kinds: Kinds,
  columns: Readonly<Record<FileStatus, ReadonlySet<string>>>,
): Kinds {
  const SUCCESSFUL = withFolded(kinds.SUCCESSFUL, columns.SUCCESSFUL);
  const FAILED = withFolded(kinds.FAILED, columns.FAILED);
  return SUCCESSFUL === kinds.SUCCESSFUL && FAILED === kinds.FAILED ? kinds : { SUCCESSFUL, FAILED };
}

function withFolded(kinds: ColumnKinds, columns: ReadonlySet<string>): ColumnKinds {
  const exact = [...columns].filter((column) => kinds[column] === 'exact');
  if (exact.length === 0) return kinds;
  return { ...kinds, ...Object.fromEntries(exact.map((column) => [column, 'folded' as const])) };
}

/** The statuses whose parts return a column for the first time. */
export function statusesWithNewColumns(kinds: Kinds, before: Kinds): readonly FileStatus[] {
  return bothStatuses.filter((status) =>
    Object.keys(kinds[status]).some((column) => kindOf(before[status], column) === undefined),
  );
}

/**
 * The kind of a column in parts of one status, from results that were matched without this column: compares record by
 * record.
 */
function kindByMatches(
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

/**
 * Indexes of the records whose results are in parts of these statuses, ascending. For a large chunk they take much
 * memory, which the caller frees with `freeMemory`.
 */
export function indexesWithStatus(
  joined: Pick<Joined, 'parts' | 'part'>,
  records: Pick<RecordBlock, 'count'>,
  statuses: readonly FileStatus[],
): Int32Array<ArrayBuffer> {
  const isOne = joined.parts.map(({ reference }) => statuses.includes(reference.fileStatus));
  const all = everyIndex(records);
  const indexes = all.filter((i) => isOne[joined.part[i]!]);
  freeMemory(all);
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
 * Checks a column whose values differ from what was sent. If it holds the sent values at other records, it is not an
 * answer: the results are at the wrong records.
 *
 * @param status of the parts in which the column is not an echo.
 * @throws UntrustedError `ECHO_UNPROVEN`.
 */
function checkNotShuffled(joined: Joined, records: RecordBlock, field: SentField, status: FileStatus): void {
  if (!isShuffled(joined, records, field, bothStatuses) && !isShuffled(joined, records, field, [status])) {
    return;
  }
  throw new MismatchError(
    'ECHO_UNPROVEN',
    `${field.column} came back with the values that were sent, but at other records, so the results are at the wrong records`,
    {
      hint: "nothing more is uploaded; ask the service provider why results come back under another record's number; result.echo does not solve this",
    },
  );
}

/** Whether the parts of these statuses return all values of a column that were sent, in any order. */
export function isShuffled(
  joined: Joined,
  records: RecordBlock,
  field: SentField,
  statuses: readonly FileStatus[],
): boolean {
  const parts = joined.parts.filter(
    ({ reference, count }) => count > 0 && statuses.includes(reference.fileStatus),
  );
  if (parts.length === 0 || !parts.every(({ columns }) => columns.includes(field.column))) return false;
  return kindByValues(parts, field, records, indexesWithStatus(joined, records, statuses)) !== 'answer';
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
