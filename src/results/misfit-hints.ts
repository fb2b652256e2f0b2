/** What to do about results that do not match: which columns of `result.echo` may be the way out, where any are. */
import { MismatchError } from '../errors.js';
import type { RecordBlock } from '../source/record-block.js';
import type { ColumnKinds, FileStatus } from '../types.js';
import type { ContradictionError } from './compare-echoes.js';
import { kindOfAll, type SentField, tellsApart } from './echo-kinds.js';
import type { GivenBack, SentColumns } from './join-way.js';
import type { Joined } from './joined.js';
import { bothKinds, placesOf } from './judge-echoes.js';
import type { PartTable } from './part-table.js';

export const askProvider =
  'nothing is published; ask the service provider about this folio, then run the same command again';

/** The same error with this hint. */
export function withHint(error: MismatchError, hint: string): MismatchError {
  return new MismatchError(error.code, error.message, { hint, facts: error.facts, cause: error });
}

/** The numbers that came back are not those that were sent: other columns may be what the results are matched by. */
export function offeringEchoes(
  error: MismatchError,
  parts: readonly PartTable[],
  records: RecordBlock,
  { columns }: GivenBack,
  { sent, fields }: { readonly sent: SentColumns; readonly fields: readonly SentField[] },
): MismatchError {
  if (error.hint !== undefined) return error;
  const echoes = fields.filter(
    (field) => columns.includes(field.column) && kindOfAll(parts, field, records) !== 'answer',
  );
  if (!doTellApart(echoes, records)) return error;
  return withHint(
    error,
    `${askProvider}; if the service changes ${sent.key} or numbers the records itself, match the results by what comes back as it was sent, with ${setting(echoes)}, and run again: nothing is paid again; records that are equal in those columns may then get each other's results`,
  );
}

/** An echo says something else in a later chunk: the service may change that column, where others speak for the join. */
export function leavingOut(
  error: ContradictionError,
  joined: Joined,
  records: RecordBlock,
  fields: readonly SentField[],
  kinds: Readonly<Record<FileStatus, ColumnKinds>>,
  declared: readonly string[] | null,
): MismatchError {
  const isEcho = ({ column }: SentField) =>
    declared?.includes(column) ??
    Object.values(kinds).some(({ [column]: kind }) => kind === 'exact' || kind === 'folded');
  const changed = fields.filter(({ column }) => error.columns.includes(column));
  const left = fields.filter((field) => isEcho(field) && !changed.includes(field));
  if (!doTellApart(left, records) || changed.some((field) => isMoved(joined, records, field))) return error;
  const names = changed.map(({ column }) => column).join(', ');
  return withHint(
    error,
    `${askProvider}; if the service may change ${names}, leave them out of result.echo: ${setting(left)} and run again: nothing is paid again`,
  );
}

/** What was sent, at other records, is no change that the service made: the results are at the wrong ones. */
function isMoved(joined: Joined, records: RecordBlock, field: SentField): boolean {
  return [bothKinds, ...bothKinds.map((status) => [status])].some((some) => {
    const parts = joined.parts.filter(
      ({ reference, count }) => count > 0 && some.includes(reference.fileStatus),
    );
    if (parts.length === 0 || !parts.every(({ columns }) => columns.includes(field.column))) return false;
    const places = placesOf(joined, records, some);
    return (
      tellsApart(records, places, field.sourceField, true) &&
      kindOfAll(parts, field, records, places) !== 'answer'
    );
  });
}

function doTellApart(echoes: readonly SentField[], records: RecordBlock): boolean {
  if (records.count === 1) return echoes.length > 0;
  const places = Array.from({ length: records.count }, (_, i) => i);
  return echoes.some(({ sourceField }) => tellsApart(records, places, sourceField, true));
}

function setting(echoes: readonly SentField[]): string {
  return `result.echo: [${echoes.map(({ column }) => column).join(', ')}]`;
}
