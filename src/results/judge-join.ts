/**
 * Whether what came back proves a join (law 8): something of what was sent tells the records apart and is the same,
 * few results could as well be others', and anything was predicted at all.
 */
import { MismatchError, UntrustedError } from '../errors.js';
import type { RecordBlock } from '../source/record-block.js';
import type { ColumnKinds, FileStatus, JoinWay } from '../types.js';
import { kindOfAll, type SentField, sentText, tellsApart } from './echo-kinds.js';
import type { EchoedColumn } from './join-by-echo.js';
import type { SentColumns } from './join-way.js';
import type { Joined } from './joined.js';
import { bothKinds, checkNoOthers, indistinctEchoes, placesOf } from './judge-echoes.js';
import { addedColumns } from './output-layout.js';
import type { PartTable } from './part-table.js';

type Kinds = Readonly<Record<FileStatus, ColumnKinds>>;

/**
 * Judges the first chunk, and those after it until one has proved the join.
 * @param tuple the columns by which results were matched; null: by the key.
 * @returns whether successful results of records that differ have passed; with less to go by, a later chunk has to.
 * @throws UntrustedError `ECHO_UNPROVEN`, `RESULTS_INDISTINCT`.
 */
export function checkProof(
  joined: Joined,
  records: RecordBlock,
  fields: readonly SentField[],
  kinds: Kinds,
  tuple: readonly EchoedColumn[] | null,
  key: string | null,
): boolean {
  if (isTooIndistinct(joined.indistinct.size, records.count)) throw indistinctError(joined, records);
  if (tuple === null) checkNoOthers(joined, records, fields, kinds.FAILED);
  // By the key, the failures may hide among the successes, and each kind of part may give back something else.
  const groups = tuple === null ? [bothKinds, ['SUCCESSFUL' as const], ['FAILED' as const]] : [bothKinds];
  const hasSuccess = joined.parts.some(
    ({ reference, count }) => reference.fileStatus === 'SUCCESSFUL' && count > 0,
  );
  let isProven = false;
  for (const statuses of groups) {
    const places = placesOf(joined, records, statuses);
    const cameBack = statuses.map((status) => kinds[status]);
    if (!checkTelling(records, fields, places, cameBack, tuple === null)) continue;
    const ofSuccesses = tuple === null ? statuses.length === 1 && statuses[0] === 'SUCCESSFUL' : hasSuccess;
    isProven ||= ofSuccesses;
  }
  if (tuple === null) checkToldApart(joined, records, fields, kinds, bothKinds, key!);
  return isProven;
}

/**
 * @returns whether anything that was sent tells the records at these places apart: nothing is wrong where all of it is
 *   equal, and nothing is proven.
 * @throws UntrustedError `ECHO_UNPROVEN` where none of what tells them apart came back as it was sent.
 */
function checkTelling(
  records: RecordBlock,
  fields: readonly SentField[],
  places: readonly number[],
  cameBack: readonly ColumnKinds[],
  byKey: boolean,
): boolean {
  const telling = fields.filter(({ sourceField }) => tellsApart(records, places, sourceField, false));
  if (telling.length === 0) return false;
  const isEcho = ({ column, sourceField }: SentField) =>
    cameBack.some(({ [column]: kind }) => {
      if (kind !== 'exact' && kind !== 'folded') return false;
      return tellsApart(records, places, sourceField, kind === 'folded');
    });
  const isKeyAlone = byKey && cameBack.every((some) => Object.keys(some).length === 0);
  if (!isKeyAlone && !telling.some(isEcho)) throw unproven(telling, cameBack);
  return true;
}

/**
 * A column whose values are those that were sent, but at other records, is no answer: the results are at wrong ones.
 * @param status of the parts in which it is none of the echoes.
 * @throws UntrustedError `ECHO_UNPROVEN`.
 */
export function checkNotMoved(
  joined: Joined,
  records: RecordBlock,
  field: SentField,
  status: FileStatus,
): void {
  const isMoved = (statuses: readonly FileStatus[]) => {
    const parts = joined.parts.filter(
      ({ reference, count }) => count > 0 && statuses.includes(reference.fileStatus),
    );
    if (!parts.every(({ columns }) => columns.includes(field.column))) return false;
    return kindOfAll(parts, field, records, placesOf(joined, records, statuses)) !== 'answer';
  };
  if (!isMoved(bothKinds) && !isMoved([status])) return;
  throw new MismatchError(
    'ECHO_UNPROVEN',
    `${field.column} came back with the values that were sent, but at other records, so the results are not at their own`,
    {
      hint: "nothing more is uploaded; ask the service provider why results come back under another record's number; result.echo does not mend this",
    },
  );
}

/**
 * Judges sent columns that come back for the first time after the join was proved, where results are matched by the
 * key: in these kinds of part they have to prove it too.
 * @throws UntrustedError `ECHO_UNPROVEN`, `RESULTS_INDISTINCT`.
 */
export function checkLate(
  joined: Joined,
  records: RecordBlock,
  fields: readonly SentField[],
  kinds: Kinds,
  late: readonly FileStatus[],
  key: string,
): void {
  if (late.length === 0) return;
  if (late.includes('FAILED')) checkNoOthers(joined, records, fields, kinds.FAILED);
  for (const status of late) {
    const places = placesOf(joined, records, [status]);
    checkTelling(records, fields, places, [kinds[status]], true);
  }
  checkToldApart(joined, records, fields, kinds, late, key);
}

/** With the key too, as long as anything else came back with it. */
function checkToldApart(
  joined: Joined,
  records: RecordBlock,
  fields: readonly SentField[],
  kinds: Kinds,
  statuses: readonly FileStatus[],
  key: string,
): void {
  const indistinct = indistinctEchoes(joined, records, fields, kinds, statuses, key);
  if (isTooIndistinct(indistinct.size, records.count)) throw indistinctError({ indistinct }, records, true);
}

/** Whether more than one record in twenty could as well have another one's different result. */
export function isTooIndistinct(indistinct: number, records: number): boolean {
  return indistinct * 20 > records;
}

/** @param byKey whether the number came back too: it is not relied on alone beside other columns. */
export function indistinctError(
  { indistinct }: Pick<Joined, 'indistinct'>,
  { count }: Pick<RecordBlock, 'count'>,
  byKey = false,
): UntrustedError {
  const butKey = byKey ? ", but for the record's number," : '';
  return new UntrustedError(
    'RESULTS_INDISTINCT',
    `${indistinct.size} of ${count} records have different results although what comes back of them${butKey} is equal, so nothing tells which result is whose`,
    { hint: byKey ? `${waysOutAndLimits} (${numberAlone})` : waysOutAndLimits },
  );
}

function unproven(telling: readonly SentField[], kinds: readonly ColumnKinds[]): UntrustedError {
  const changed = kinds.flatMap((some) => Object.keys(some).filter((column) => some[column] === 'answer'));
  const answers = [...new Set(changed)];
  const names = telling.map(({ column }) => column).join(', ');
  const said = answers.length === 0 ? '' : `; ${answers.join(', ')} came back with other values`;
  return new MismatchError(
    'ECHO_UNPROVEN',
    `none of the columns that tell the records apart (${names}) came back as it was sent, so nothing proves which record a result belongs to${said}`,
    { hint: `${waysOutAndLimits} (${numberAlone})` },
  );
}

/** Neither the key nor an echo came back. */
export function nothingToJoinBy(
  columns: readonly string[],
  declared: readonly string[] | null,
): UntrustedError {
  if (columns.length > 0 && declared === null) {
    return new MismatchError(
      'ECHO_UNPROVEN',
      `${columns.join(', ')} came back with other values than were sent, and the record's number did not, so nothing tells which record a result belongs to`,
      { hint: waysOutAndLimits },
    );
  }
  return new UntrustedError(
    'JOIN_IMPOSSIBLE',
    `the results give back none of the columns that were sent${declared === null ? '' : ' and that result.echo names'}, so nothing tells which record they belong to`,
    { hint: 'records are never matched by position alone; ask the service provider what its results hold' },
  );
}

const waysOut =
  'nothing more is uploaded; ask the service provider what its results hold, or say which sent columns come back unchanged, such as result.echo: [name], and run again: what was bought is not paid again';

const waysOutAndLimits = `${waysOut}; records that are equal in those columns may then get each other's results`;

const numberAlone = "result.echo: [] where the record's number alone is to be relied on";

/** @throws UntrustedError `NOTHING_PREDICTED` when a part of successes has no column but those that were sent. */
export function checkPredicted(parts: readonly PartTable[], sent: SentColumns, kinds: Kinds): void {
  for (const part of parts) {
    if (part.reference.fileStatus === 'FAILED' || part.count === 0) continue;
    if (addedColumns(part, sent, kinds.SUCCESSFUL).length > 0) continue;
    throw new MismatchError(
      'NOTHING_PREDICTED',
      `the successful results hold nothing but what was sent (${part.columns.join(', ')}): nothing was predicted`,
      {
        hint: 'nothing more is uploaded; ask the service provider where its predictions are; a sent column that holds them is left out of result.echo',
        facts: { part: part.reference.part },
      },
    );
  }
}

// Whether `result.echo` names too little to tell the records apart: then only the person's word joins the results.

/**
 * @param declared the columns of `result.echo`.
 * @param kinds of the columns that came back with the successful results.
 * @returns true where, of the records that succeeded, more than one in twenty has the same values in the declared
 *   columns that came back as another one that was sent with other values.
 */
export function isJoinedOnWord(
  joined: Pick<Joined, 'parts' | 'part'>,
  records: RecordBlock,
  fields: readonly SentField[],
  declared: readonly string[],
  kinds: ColumnKinds,
): boolean {
  const isSuccess = joined.parts.map(({ reference }) => reference.fileStatus === 'SUCCESSFUL');
  const isEcho = ({ column }: SentField) => {
    const kind = kinds[column];
    return declared.includes(column) && (kind === 'exact' || kind === 'folded');
  };
  const textOf = (place: number, some: readonly SentField[]) =>
    JSON.stringify(some.map(({ sourceField }) => sentText(records, place, sourceField)));
  const echoes = fields.filter(isEcho);
  // By what the echoes say: how many records, and whether all of them were sent with the same values.
  const sharing = new Map<string, { count: number; all: string; isAlike: boolean }>();
  let successes = 0;
  for (let i = 0; i < records.count; i++) {
    if (!isSuccess[joined.part[i]!]) continue;
    successes += 1;
    const echo = textOf(i, echoes);
    const all = textOf(i, fields);
    const same = sharing.get(echo);
    if (same === undefined) sharing.set(echo, { count: 1, all, isAlike: true });
    else {
      same.count += 1;
      same.isAlike &&= same.all === all;
    }
  }
  const confusable = [...sharing.values()].filter(({ isAlike }) => !isAlike);
  return isTooIndistinct(
    confusable.reduce((sum, { count }) => sum + count, 0),
    successes,
  );
}

// Says that nothing but a person's word joins a run's results.

/** @param way one whose judgement is on the person's word. */
export function onWordText({ by, judged }: JoinWay): string {
  const columns = judged?.declared?.join(', ') ?? '';
  const how = by === 'key' ? "by the record's number alone" : 'by equal values in order';
  return `result.echo: [${columns}] does not tell the records apart: results are joined ${how}, on your word`;
}
