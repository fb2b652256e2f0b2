/**
 * Joins a chunk's parts to its records and proves that each result belongs to its record (laws 1 and 8). Pure: what
 * was found out of the columns that come back is in the way that is returned, for the caller to keep.
 */
import { MismatchError } from '../errors.js';
import type { RecordBlock } from '../source/record-block.js';
import type { ColumnKinds, FileStatus, JoinWay } from '../types.js';
import { type CompareEchoes, ContradictionError } from './compare-echoes.js';
import { kindAtMatches, kindOfAll, type SentField } from './echo-kinds.js';
import { type EchoedColumn, joinByEcho } from './join-by-echo.js';
import { joinByKey } from './join-by-key.js';
import { checkEchoes, checkJoinWay, type GivenBack, givenBack, type SentColumns } from './join-way.js';
import type { Joined } from './joined.js';
import { bothKinds } from './judge-echoes.js';
import {
  checkLate,
  checkNotMoved,
  checkPredicted,
  checkProof,
  isJoinedOnWord,
  nothingToJoinBy,
} from './judge-join.js';
import { askProvider, leavingOut, offeringEchoes, withHint } from './misfit-hints.js';
import type { PartTable } from './part-table.js';

export interface JoinTerms {
  readonly sent: SentColumns;
  /** The sent columns without the key's. */
  readonly fields: readonly SentField[];
  /** How the run's chunks were joined so far; null before the first. */
  readonly way: JoinWay | null;
  /** `result.echo`: null where the columns are to be judged. */
  readonly declared: readonly string[] | null;
  readonly compare: CompareEchoes;
}

export interface JoinedChunk {
  readonly joined: Joined;
  /** The same object where nothing more is known than before. */
  readonly way: JoinWay;
}

/**
 * @throws UntrustedError `RESULTS_DO_NOT_MATCH`, `JOIN_WEAKER`, `JOIN_IMPOSSIBLE`, `ECHO_UNPROVEN`,
 *   `RESULTS_INDISTINCT`, `NOTHING_PREDICTED`.
 */
export function joinResults(
  parts: readonly PartTable[],
  records: RecordBlock,
  terms: JoinTerms,
): JoinedChunk {
  const back = givenBack(parts, terms.sent);
  if (terms.way !== null) {
    checkJoinWay(terms.way, back);
    checkEchoes(terms.way, parts);
  }
  if (!back.key) return proven(joinByColumns(parts, records, back, terms), records, terms);
  try {
    const joined = joinByKey(parts, terms.sent.key!, records.numbers);
    return proven({ joined, tuple: null }, records, terms);
  } catch (error) {
    if (!(error instanceof MismatchError) || error.code !== 'RESULTS_DO_NOT_MATCH') throw error;
    return withoutKey(parts, records, back, terms, error);
  }
}

/**
 * Where the user has said which columns come back as they were sent, the key gives way to them: the service may have
 * written it otherwise, or numbered the records itself.
 */
function withoutKey(
  parts: readonly PartTable[],
  records: RecordBlock,
  back: GivenBack,
  terms: JoinTerms,
  failure: MismatchError,
): JoinedChunk {
  const { declared } = terms;
  if (declared === null) {
    // There, the number is one that was sent.
    if (failure instanceof ContradictionError) throw failure;
    throw offeringEchoes(failure, parts, records, back, terms);
  }
  if (!back.columns.some((column) => declared.includes(column))) throw failure;
  try {
    return proven(joinByColumns(parts, records, back, terms), records, terms);
  } catch (error) {
    if (!(error instanceof MismatchError)) throw error;
    const hint = `${failure.hint ?? askProvider}; by the columns of result.echo they do not fit either: ${error.message}`;
    throw withHint(failure, hint);
  }
}

/** Proves that each result is at its own record, as far as the columns that came back tell. */
function proven({ joined, tuple }: Matched, records: RecordBlock, terms: JoinTerms): JoinedChunk {
  const { fields, declared, sent } = terms;
  const known = terms.way?.judged;
  const judged = kindsOf(joined, records, tuple, terms);
  // Those that results were matched by are the same already.
  const others = fields.filter(({ column }) => !tuple?.some((one) => one.column === column));
  const kinds = loosened(judged, compared(joined, records, others, judged, terms));
  const wasProven = known?.isProven === true || declared !== null;
  const isProven = wasProven || checkProof(joined, records, fields, kinds, tuple, sent.key);
  if (wasProven && declared === null && tuple === null) {
    checkLate(joined, records, fields, kinds, lateIn(kinds, known!.kinds), sent.key!);
  }
  checkPredicted(joined.parts, sent, kinds);
  const isOnWord =
    declared !== null &&
    (known?.isOnWord === true || isJoinedOnWord(joined, records, fields, declared, kinds.SUCCESSFUL));
  const way = wayOf(terms, tuple, { kinds, isProven, declared, ...(isOnWord && { isOnWord }) });
  return { joined, way };
}

/** The kinds of part in which columns came back that had not before. */
function lateIn(kinds: Kinds, before: Kinds): readonly FileStatus[] {
  return bothKinds.filter((status) =>
    Object.keys(kinds[status]).some((column) => before[status][column] === undefined),
  );
}

function compared(
  joined: Joined,
  records: RecordBlock,
  others: readonly SentField[],
  kinds: Kinds,
  { fields, declared, compare }: JoinTerms,
): ReturnType<CompareEchoes> {
  try {
    return compare(records, joined, others, kinds);
  } catch (error) {
    if (!(error instanceof ContradictionError)) throw error;
    throw leavingOut(error, joined, records, fields, kinds, declared);
  }
}

interface Matched {
  readonly joined: Joined;
  /** The columns by which the results were matched; null: by the key. */
  readonly tuple: readonly EchoedColumn[] | null;
}

function joinByColumns(
  parts: readonly PartTable[],
  records: RecordBlock,
  back: GivenBack,
  { fields, way, declared }: JoinTerms,
): Matched {
  const wanted = way?.by === 'echo' ? way.columns : (declared ?? back.columns);
  const candidates = fields.filter(({ column }) => wanted.includes(column) && back.columns.includes(column));
  const tuple = candidates.flatMap((field): readonly EchoedColumn[] => {
    // What is fixed or declared is an echo whatever comes: where it is none, the join says so.
    const isEcho = way !== null || declared !== null;
    const kind = fixedKind(way, field.column) ?? kindOfAll(parts, field, records);
    if (kind === 'answer' && !isEcho) return [];
    return [{ ...field, isFolded: kind === 'folded' }];
  });
  if (tuple.length === 0) throw nothingToJoinBy(back.columns, declared);
  try {
    return { joined: joinByEcho(parts, tuple, records), tuple };
  } catch (error) {
    const looser = way === null ? tuple : tuple.map((column) => loosenedBy(parts, column, records));
    if (looser.every(({ isFolded }, at) => isFolded === tuple[at]!.isFolded)) throw error;
    return { joined: joinByEcho(parts, looser, records), tuple: looser };
  }
}

/** The first chunks may have had nothing that comes back with other capitals or blanks. */
function loosenedBy(parts: readonly PartTable[], column: EchoedColumn, records: RecordBlock): EchoedColumn {
  return column.isFolded ? column : { ...column, isFolded: kindOfAll(parts, column, records) === 'folded' };
}

/** What a column by which results are matched was so far: the first version matched by bytes. */
function fixedKind(way: JoinWay | null, column: string) {
  if (way?.by !== 'echo') return undefined;
  if (way.judged === null) return 'exact';
  return way.judged.kinds.SUCCESSFUL[column] ?? way.judged.kinds.FAILED[column];
}

type Kinds = NonNullable<JoinWay['judged']>['kinds'];

/** What is known of the columns with this chunk: a column that comes back for the first time is judged. */
function kindsOf(
  joined: Joined,
  records: RecordBlock,
  tuple: readonly EchoedColumn[] | null,
  { fields, way, declared }: JoinTerms,
): Kinds {
  const judge = (status: FileStatus) => {
    const matchedBy = new Set(tuple?.filter(({ isFolded }) => isFolded).map(({ column }) => column));
    const known = withFolded(way?.judged?.kinds[status] ?? {}, matchedBy);
    const parts = joined.parts.filter(({ reference, count }) => reference.fileStatus === status && count > 0);
    const late = fields.filter(
      ({ column }) => known[column] === undefined && parts.some(({ columns }) => columns.includes(column)),
    );
    if (late.length === 0) return known;
    const found = late.map((field) => {
      const matched = tuple?.find(({ column }) => column === field.column);
      if (matched !== undefined) return [field.column, matched.isFolded ? 'folded' : 'exact'] as const;
      if (declared !== null && !declared.includes(field.column)) return [field.column, 'answer'] as const;
      const kind = kindAtMatches(joined, status, field, records);
      if (kind === 'answer') {
        // A declared echo that is none is found to be a strange result.
        if (declared !== null) return [field.column, 'folded'] as const;
        checkNotMoved(joined, records, field, status);
      }
      return [field.column, kind] as const;
    });
    return { ...known, ...Object.fromEntries(found) };
  };
  const kinds = { SUCCESSFUL: judge('SUCCESSFUL'), FAILED: judge('FAILED') };
  const before = way?.judged?.kinds;
  return kinds.SUCCESSFUL === before?.SUCCESSFUL && kinds.FAILED === before.FAILED ? before : kinds;
}

/** The same kinds, but for echoes that turned out to be such only nearly. */
function loosened(kinds: Kinds, columns: Readonly<Record<FileStatus, ReadonlySet<string>>>): Kinds {
  const SUCCESSFUL = withFolded(kinds.SUCCESSFUL, columns.SUCCESSFUL);
  const FAILED = withFolded(kinds.FAILED, columns.FAILED);
  return SUCCESSFUL === kinds.SUCCESSFUL && FAILED === kinds.FAILED ? kinds : { SUCCESSFUL, FAILED };
}

/** The same object where no exact echo is among the columns. */
function withFolded(kinds: ColumnKinds, columns: ReadonlySet<string>): ColumnKinds {
  const exact = [...columns].filter((column) => kinds[column] === 'exact');
  if (exact.length === 0) return kinds;
  return { ...kinds, ...Object.fromEntries(exact.map((column) => [column, 'folded' as const])) };
}

function wayOf(
  { sent, way }: JoinTerms,
  tuple: readonly EchoedColumn[] | null,
  judged: NonNullable<JoinWay['judged']>,
): JoinWay {
  const before = way?.judged;
  const isSame = before?.isProven === judged.isProven && before.isOnWord === judged.isOnWord;
  if (way !== null && before?.kinds === judged.kinds && isSame) return way;
  if (way !== null) return { ...way, judged };
  if (tuple === null) return { by: 'key', column: sent.key!, judged };
  return { by: 'echo', columns: tuple.map(({ column }) => column), judged };
}
