/**
 * Joins a chunk's parts to its records and proves that each result belongs to its record. Pure: it returns what it
 * learns about the columns as a new join method, which the caller stores. Rule "Join by key, and prove it":
 * docs/architecture.md#join-by-key-and-prove-it. The order of the steps:
 *
 * 1. `join-method.ts`: which sent columns come back, and whether they are those of earlier chunks.
 * 2. `join-by-key.ts`, else `join-by-echo.ts`: which result belongs to which record.
 * 3. `column-kinds.ts`: which of the columns that come back are echoes.
 * 4. `compare-echoes.ts`: whether each echo holds what was sent with its record.
 * 5. `prove-join.ts`: whether the echoes distinguish the records. Checked in each chunk until one has proved the join.
 */
import type { MatchExports } from '../csv/kernel/match-kernel.js';
import type { TableMemory } from '../csv/kernel/table-memory.js';
import { MismatchError, reworded } from '../errors.js';
import type { RecordBlock } from '../source/record-block.js';
import type { JoinMethod, Judgement } from '../types.js';
import {
  type EchoedColumn,
  kindByValues,
  kindOf,
  learnKinds,
  type SentField,
  statusesWithNewColumns,
  withFoldedColumns,
} from './column-kinds.js';
import { type CompareEchoes, ContradictionError } from './compare-echoes.js';
import { isDeclaredEchoTooWeak } from './declared-echo.js';
import type { KnownChunk } from './find-swaps.js';
import { joinByEcho } from './join-by-echo.js';
import { joinByKey } from './join-by-key.js';
import {
  checkEchoes,
  checkJoinMethod,
  type Joined,
  type ReturnedColumns,
  returnedColumns,
  type SentColumns,
} from './join-method.js';
import { askProvider, withEchoHint, withLeaveOutHint } from './mismatch-hints.js';
import { checkPredicted } from './output-layout.js';
import type { PartTable } from './part-table.js';
import { checkNewColumns, checkProof, nothingToJoinByError } from './prove-join.js';

export interface JoinTerms {
  readonly sent: SentColumns;
  /** The sent columns without the key column. */
  readonly fields: readonly SentField[];
  /** How the run's chunks were joined so far; null before the first. */
  readonly method: JoinMethod | null;
  /** The columns of `result.echo`; null if foliopipe judges the columns itself. */
  readonly declared: readonly string[] | null;
  readonly compare: CompareEchoes;
  /** See `joinByEcho`. */
  readonly tables?: TableMemory<MatchExports> | undefined;
}

export interface JoinedChunk {
  readonly joined: Joined;
  /** The same object as before if the chunk shows nothing new. */
  readonly method: JoinMethod;
}

/**
 * Joins by the key if it came back, otherwise by the echoed columns.
 *
 * @throws UntrustedError `RESULTS_DO_NOT_MATCH`, `JOIN_WEAKER`, `JOIN_IMPOSSIBLE`, `ECHO_UNPROVEN`,
 *   `RESULTS_INDISTINCT`, `NOTHING_PREDICTED`.
 */
export function joinResults(
  parts: readonly PartTable[],
  records: RecordBlock,
  terms: JoinTerms,
): JoinedChunk {
  const returned = returnedColumns(parts, terms.sent);
  if (terms.method !== null) {
    checkJoinMethod(terms.method, returned);
    checkEchoes(terms.method, parts);
  }
  if (!returned.key) return proveJoin(joinByColumns(parts, records, returned, terms), records, terms);
  try {
    const joined = joinByKey(parts, terms.sent.key!, records.numbers);
    return proveJoin({ joined, matchedBy: null }, records, terms);
  } catch (error) {
    if (!(error instanceof MismatchError) || error.code !== 'RESULTS_DO_NOT_MATCH') throw error;
    return joinWithoutKey(parts, records, returned, terms, error);
  }
}

/**
 * Joins by the columns of `result.echo` when the returned numbers do not match: the service may have changed them, or
 * numbered the records itself. Without `result.echo` the failure is final.
 */
function joinWithoutKey(
  parts: readonly PartTable[],
  records: RecordBlock,
  returned: ReturnedColumns,
  terms: JoinTerms,
  failure: MismatchError,
): JoinedChunk {
  const { declared } = terms;
  if (declared === null) {
    // In a contradiction the numbers are the ones that were sent, so other columns cannot help.
    if (failure instanceof ContradictionError) throw failure;
    throw withEchoHint(failure, parts, records, returned, terms);
  }
  if (!returned.columns.some((column) => declared.includes(column))) throw failure;
  try {
    return proveJoin(joinByColumns(parts, records, returned, terms), records, terms);
  } catch (error) {
    if (!(error instanceof MismatchError)) throw error;
    const hint = `${failure.hint ?? askProvider}; they do not match by the columns of result.echo either: ${error.message}`;
    throw reworded(failure, { hint });
  }
}

interface MatchedChunk {
  readonly joined: Joined;
  /** The columns by which results were matched; null if they were matched by the key. */
  readonly matchedBy: readonly EchoedColumn[] | null;
}

/** Checks with the returned columns that each result is at its own record. */
function proveJoin({ joined, matchedBy }: MatchedChunk, records: RecordBlock, terms: JoinTerms): JoinedChunk {
  const { fields, declared, sent, method } = terms;
  const before = method?.judged;
  const learned = learnKinds(joined, records, matchedBy, { fields, before: before?.kinds ?? null, declared });
  // The columns by which results were matched are equal, so they need no comparison.
  const others = fields.filter(({ column }) => !matchedBy?.some((one) => one.column === column));
  const folded = compareOthers({ joined, records, fields, kinds: learned }, others, terms);
  const kinds = withFoldedColumns(learned, folded);
  const chunk: KnownChunk = { joined, records, fields, kinds };

  const wasProven = before?.isProven === true || declared !== null;
  const isProven = wasProven || checkProof(chunk, matchedBy, sent.key);
  if (wasProven && declared === null && matchedBy === null) {
    checkNewColumns(chunk, statusesWithNewColumns(kinds, before!.kinds), sent.key!);
  }
  checkPredicted(joined.parts, sent, kinds.SUCCESSFUL);
  const isOnWord = declared !== null && (before?.isOnWord === true || isDeclaredEchoTooWeak(chunk, declared));
  const judgement = { kinds, isProven, declared, ...(isOnWord && { isOnWord }) };
  return { joined, method: updatedMethod(judgement, terms, matchedBy) };
}

/** @param others the columns to compare. */
function compareOthers(
  chunk: KnownChunk,
  others: readonly SentField[],
  { declared, compare }: JoinTerms,
): ReturnType<CompareEchoes> {
  try {
    return compare(chunk.records, chunk.joined, others, chunk.kinds);
  } catch (error) {
    if (!(error instanceof ContradictionError)) throw error;
    throw withLeaveOutHint(error, chunk, declared);
  }
}

function joinByColumns(
  parts: readonly PartTable[],
  records: RecordBlock,
  returned: ReturnedColumns,
  { fields, method, declared, tables }: JoinTerms,
): MatchedChunk {
  const wanted = method?.by === 'echo' ? method.columns : (declared ?? returned.columns);
  const candidates = fields.filter(
    ({ column }) => wanted.includes(column) && returned.columns.includes(column),
  );
  const matchedBy = candidates.flatMap((field): readonly EchoedColumn[] => {
    // A fixed or declared column counts as an echo. If it is not one, the join fails and says so.
    const isEcho = method !== null || declared !== null;
    const kind = knownKind(method, field.column) ?? kindByValues(parts, field, records);
    if (kind === 'answer' && !isEcho) return [];
    return [{ ...field, isFolded: kind === 'folded' }];
  });
  if (matchedBy.length === 0) throw nothingToJoinByError(returned.columns, declared);
  try {
    return { joined: joinByEcho(parts, matchedBy, records, tables), matchedBy };
  } catch (error) {
    const looser =
      method === null ? matchedBy : matchedBy.map((column) => foldedIfNeeded(parts, column, records));
    if (looser.every(({ isFolded }, at) => isFolded === matchedBy[at]!.isFolded)) throw error;
    return { joined: joinByEcho(parts, looser, records, tables), matchedBy: looser };
  }
}

/** Makes an exact column folded if it is folded in this chunk: in earlier chunks, no text may have differed. */
function foldedIfNeeded(
  parts: readonly PartTable[],
  column: EchoedColumn,
  records: RecordBlock,
): EchoedColumn {
  return column.isFolded
    ? column
    : { ...column, isFolded: kindByValues(parts, column, records) === 'folded' };
}

/** The kind so far of a column by which results are matched. Versions before 0.1.0 stored none and matched exact bytes. */
function knownKind(method: JoinMethod | null, column: string) {
  if (method?.by !== 'echo') return undefined;
  if (method.judged === null) return 'exact';
  const { SUCCESSFUL, FAILED } = method.judged.kinds;
  return kindOf(SUCCESSFUL, column) ?? kindOf(FAILED, column);
}

function updatedMethod(
  judged: Judgement,
  { sent, method }: JoinTerms,
  matchedBy: readonly EchoedColumn[] | null,
): JoinMethod {
  const before = method?.judged;
  const isSame = before?.isProven === judged.isProven && before.isOnWord === judged.isOnWord;
  if (method !== null && before?.kinds === judged.kinds && isSame) return method;
  if (method !== null) return { ...method, judged };
  if (matchedBy === null) return { by: 'key', column: sent.key!, judged };
  return { by: 'echo', columns: matchedBy.map(({ column }) => column), judged };
}
