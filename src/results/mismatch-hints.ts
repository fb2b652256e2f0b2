/** Hints for results that do not match: suggests columns for `result.echo`, if any can help. */
import { type MismatchError, reworded } from '../errors.js';
import type { RecordBlock } from '../source/record-block.js';
import {
  bothStatuses,
  everyIndex,
  hasSeveralValues,
  indexesWithStatus,
  isShuffled,
  kindByValues,
  type SentField,
} from './column-kinds.js';
import type { ContradictionError } from './compare-echoes.js';
import type { KnownChunk } from './find-swaps.js';
import type { Joined, ReturnedColumns, SentColumns } from './join-method.js';
import type { PartTable } from './part-table.js';

export const askProvider =
  'nothing is published; ask the service provider about this folio, then run the same command again';

/** For returned numbers that do not match what was sent: suggests other columns to match by, if they suffice. */
export function withEchoHint(
  error: MismatchError,
  parts: readonly PartTable[],
  records: RecordBlock,
  { columns }: ReturnedColumns,
  { sent, fields }: { readonly sent: SentColumns; readonly fields: readonly SentField[] },
): MismatchError {
  if (error.hint !== undefined) return error;
  const echoes = fields.filter(
    (field) => columns.includes(field.column) && kindByValues(parts, field, records) !== 'answer',
  );
  if (!canDistinguish(echoes, records)) return error;
  return reworded(error, {
    hint: `${askProvider}; if the service changes ${sent.key} or numbers the records itself, match the results by what comes back as it was sent, with ${setting(echoes)}, and run again: nothing is paid again; records that are equal in those columns may then get each other's results`,
  });
}

/** For an echo that differs in a later chunk: suggests leaving it out of `result.echo`, if the other echoes suffice. */
export function withLeaveOutHint(
  error: ContradictionError,
  { joined, records, fields, kinds }: KnownChunk,
  declared: readonly string[] | null,
): MismatchError {
  const isEcho = ({ column }: SentField) =>
    declared?.includes(column) ??
    Object.values(kinds).some(({ [column]: kind }) => kind === 'exact' || kind === 'folded');
  const changed = fields.filter(({ column }) => error.columns.includes(column));
  const unchanged = fields.filter((field) => isEcho(field) && !changed.includes(field));
  if (
    !canDistinguish(unchanged, records) ||
    changed.some((field) => isAtOtherRecords(joined, records, field))
  )
    return error;
  const names = changed.map(({ column }) => column).join(', ');
  return reworded(error, {
    hint: `${askProvider}; if the service may change ${names}, leave them out of result.echo: ${setting(unchanged)} and run again: nothing is paid again`,
  });
}

/** Whether the sent values come back at other records: then the results are at the wrong records. */
function isAtOtherRecords(joined: Joined, records: RecordBlock, field: SentField): boolean {
  return [bothStatuses, ...bothStatuses.map((status) => [status])].some(
    (statuses) =>
      isShuffled(joined, records, field, statuses) &&
      hasSeveralValues(records, indexesWithStatus(joined, records, statuses), field.sourceField, true),
  );
}

/** Whether any of these columns distinguishes the records. */
function canDistinguish(echoes: readonly SentField[], records: RecordBlock): boolean {
  if (records.count === 1) return echoes.length > 0;
  const indexes = everyIndex(records);
  return echoes.some(({ sourceField }) => hasSeveralValues(records, indexes, sourceField, true));
}

function setting(echoes: readonly SentField[]): string {
  return `result.echo: [${echoes.map(({ column }) => column).join(', ')}]`;
}
