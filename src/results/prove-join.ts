/**
 * Decides whether the returned columns prove a join: a column that distinguishes the records must be an echo, and at most
 * a few results may be confused. Rule "Join by key, and prove it": docs/architecture.md#join-by-key-and-prove-it.
 *
 * Example: two records have the names `Bakery` and `Harbor`, and both are in `OH`. The echo of `name` proves the join;
 * the echo of `state` does not. If `name` is an answer, nothing proves the join (`ECHO_UNPROVEN`). If all records of a
 * chunk were sent with the same name, this is no error: a later chunk must prove the join. Called by `join-results.ts`.
 */
import { MismatchError, type UntrustedError } from '../errors.js';
import type { RecordBlock } from '../source/record-block.js';
import { freeMemory } from '../streams/large-buffers.js';
import type { ColumnKinds, FileStatus } from '../types.js';
import {
  bothStatuses,
  type EchoedColumn,
  hasSeveralValues,
  indexesWithStatus,
  type SentField,
} from './column-kinds.js';
import { checkNotSwapped, indistinctEchoes, type KnownChunk } from './find-swaps.js';
import type { Joined } from './join-method.js';

/**
 * Checks each chunk until one has proved the join.
 *
 * @param matchedBy the columns by which results were matched; null if they were matched by the key.
 * @returns whether this chunk proves the join, by successful results of records that differ. If not, a later chunk must.
 * @throws UntrustedError `ECHO_UNPROVEN`, `RESULTS_INDISTINCT`.
 */
export function checkProof(
  chunk: KnownChunk,
  matchedBy: readonly EchoedColumn[] | null,
  key: string | null,
): boolean {
  const { joined, records, fields, kinds } = chunk;
  if (isTooIndistinct(joined.indistinct.size, records.count)) throw indistinctError(joined, records);
  if (matchedBy === null) checkNotSwapped(chunk);
  // With the key, checks each status alone too: failures may hide among successes and return other columns.
  const groups =
    matchedBy === null ? [bothStatuses, ['SUCCESSFUL' as const], ['FAILED' as const]] : [bothStatuses];
  const hasSuccess = joined.parts.some(
    ({ reference, count }) => reference.fileStatus === 'SUCCESSFUL' && count > 0,
  );
  let isProven = false;
  for (const statuses of groups) {
    const indexes = indexesWithStatus(joined, records, statuses);
    const returned = statuses.map((status) => kinds[status]);
    const isDistinguished = checkDistinguishing(records, fields, indexes, returned, matchedBy === null);
    freeMemory(indexes);
    if (!isDistinguished) continue;
    const ofSuccesses =
      matchedBy === null ? statuses.length === 1 && statuses[0] === 'SUCCESSFUL' : hasSuccess;
    isProven ||= ofSuccesses;
  }
  if (matchedBy === null) checkIndistinctEchoes(chunk, bothStatuses, key!);
  return isProven;
}

/**
 * Checks that a column that distinguishes these records came back as it was sent.
 *
 * @param indexes of the records in the block.
 * @returns false if all records were sent with equal values: this is no error, but it proves nothing.
 * @throws UntrustedError `ECHO_UNPROVEN`.
 */
function checkDistinguishing(
  records: RecordBlock,
  fields: readonly SentField[],
  indexes: Int32Array,
  returned: readonly ColumnKinds[],
  byKey: boolean,
): boolean {
  const distinguishing = fields.filter(({ sourceField }) =>
    hasSeveralValues(records, indexes, sourceField, false),
  );
  if (distinguishing.length === 0) return false;
  const isEcho = ({ column, sourceField }: SentField) =>
    returned.some(({ [column]: kind }) => {
      if (kind !== 'exact' && kind !== 'folded') return false;
      return hasSeveralValues(records, indexes, sourceField, kind === 'folded');
    });
  const isKeyAlone = byKey && returned.every((some) => Object.keys(some).length === 0);
  if (!isKeyAlone && !distinguishing.some(isEcho)) throw unprovenError(distinguishing, returned);
  return true;
}

/**
 * Checks sent columns that come back for the first time after the join by key was proved. They must prove it again, in
 * the parts that return them.
 *
 * @param statuses the statuses of the parts that return such columns.
 * @throws UntrustedError `ECHO_UNPROVEN`, `RESULTS_INDISTINCT`.
 */
export function checkNewColumns(chunk: KnownChunk, statuses: readonly FileStatus[], key: string): void {
  if (statuses.length === 0) return;
  const { joined, records, fields, kinds } = chunk;
  if (statuses.includes('FAILED')) checkNotSwapped(chunk);
  for (const status of statuses) {
    const indexes = indexesWithStatus(joined, records, [status]);
    checkDistinguishing(records, fields, indexes, [kinds[status]], true);
    freeMemory(indexes);
  }
  checkIndistinctEchoes(chunk, statuses, key);
}

/** Checks that few records have the same echoes, apart from the key, and different results. */
function checkIndistinctEchoes(chunk: KnownChunk, statuses: readonly FileStatus[], key: string): void {
  const indistinct = indistinctEchoes(chunk, statuses, key);
  const { records } = chunk;
  if (isTooIndistinct(indistinct.size, records.count)) throw indistinctError({ indistinct }, records, true);
}

/** Whether more than one record in twenty may have the result of another record. */
export function isTooIndistinct(indistinct: number, records: number): boolean {
  return indistinct * 20 > records;
}

/**
 * A MismatchError, so that the parts are fetched again: those of another folio would have other values in sent columns,
 * which look like answers.
 * @param byKey whether the record's number came back too. It is not enough if other columns came back with it.
 */
export function indistinctError(
  { indistinct }: Pick<Joined, 'indistinct'>,
  { count }: Pick<RecordBlock, 'count'>,
  byKey = false,
): MismatchError {
  const exceptKey = byKey ? " (except the record's number)" : '';
  return new MismatchError(
    'RESULTS_INDISTINCT',
    `${indistinct.size} of ${count} records have different results, although their returned columns are equal${exceptKey}, so it is unknown which result belongs to which record`,
    { hint: byKey ? `${declareEchoHint} (${relyOnNumberHint})` : declareEchoHint },
  );
}

function unprovenError(distinguishing: readonly SentField[], kinds: readonly ColumnKinds[]): UntrustedError {
  const answers = [...new Set(kinds.flatMap(answersAmong))];
  const names = distinguishing.map(({ column }) => column).join(', ');
  const changes = answers.length === 0 ? '' : `; ${answers.join(', ')} came back with other values`;
  return new MismatchError(
    'ECHO_UNPROVEN',
    `none of the columns that tell the records apart (${names}) came back as it was sent, so nothing proves which record a result belongs to${changes}`,
    { hint: `${declareEchoHint} (${relyOnNumberHint})` },
  );
}

function answersAmong(kinds: ColumnKinds): string[] {
  return Object.keys(kinds).filter((column) => kinds[column] === 'answer');
}

/** The error when neither the key nor an echo came back. @param columns the sent columns that came back. */
export function nothingToJoinByError(
  columns: readonly string[],
  declared: readonly string[] | null,
): UntrustedError {
  if (columns.length > 0 && declared === null) {
    return new MismatchError(
      'ECHO_UNPROVEN',
      `${columns.join(', ')} came back with other values than were sent, and the record's number did not, so it is unknown which record a result belongs to`,
      { hint: declareEchoHint },
    );
  }
  return new MismatchError(
    'JOIN_IMPOSSIBLE',
    `the results give back none of the columns that were sent${declared === null ? '' : ' and that result.echo names'}, so it is unknown which record they belong to`,
    {
      hint: 'nothing is published, because records are never matched by position alone; ask the service provider what its results hold: when they are right, the same command fetches them again',
    },
  );
}

const declareEchoHint =
  "nothing more is uploaded; ask the service provider what its results hold, or say which sent columns come back unchanged, such as result.echo: [name], and run again: what was bought is not paid again; records that are equal in those columns may then get each other's results";

const relyOnNumberHint = "or result.echo: [], to rely on the record's number alone";
