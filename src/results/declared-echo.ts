/**
 * Checks whether the columns of `result.echo` identify enough records. If they do not, nothing proves the join, and
 * foliopipe trusts the user's setting.
 */
import { fieldValue } from '../csv/table.js';
import type { JoinMethod } from '../types.js';
import type { SentField } from './column-kinds.js';
import type { KnownChunk } from './find-swaps.js';
import { isTooIndistinct } from './prove-join.js';

/**
 * @param declared the columns of `result.echo`.
 * @returns true if more than one successful record in twenty can be confused: another record was sent with other
 *   values, but has the same values in the declared columns that came back.
 */
export function isDeclaredEchoTooWeak(
  { joined, records, fields, kinds: { SUCCESSFUL: kinds } }: KnownChunk,
  declared: readonly string[],
): boolean {
  const isSuccess = joined.parts.map(({ reference }) => reference.fileStatus === 'SUCCESSFUL');
  const isEcho = ({ column }: SentField) => {
    const kind = kinds[column];
    return declared.includes(column) && (kind === 'exact' || kind === 'folded');
  };
  const valuesOf = (index: number, some: readonly SentField[]) =>
    JSON.stringify(some.map(({ sourceField }) => fieldValue(records, index, sourceField)));
  const echoes = fields.filter(isEcho);
  // For each combination of echoes: its number of records, and whether all of them were sent with equal values.
  const groups = new Map<string, { count: number; sent: string; areEqual: boolean }>();
  let successes = 0;
  for (let i = 0; i < records.count; i++) {
    if (!isSuccess[joined.part[i]!]) continue;
    successes += 1;
    const echo = valuesOf(i, echoes);
    const sent = valuesOf(i, fields);
    const group = groups.get(echo);
    if (group === undefined) groups.set(echo, { count: 1, sent, areEqual: true });
    else {
      group.count += 1;
      group.areEqual &&= group.sent === sent;
    }
  }
  const confusable = [...groups.values()].filter(({ areEqual }) => !areEqual);
  return isTooIndistinct(
    confusable.reduce((sum, { count }) => sum + count, 0),
    successes,
  );
}

/** The warning for a run that trusts a weak `result.echo`. @param method with `isOnWord`. */
export function weakEchoText({ by, judged }: JoinMethod): string {
  const columns = judged?.declared?.join(', ') ?? '';
  const how = by === 'key' ? "by the record's number alone" : 'by equal values in order';
  return `result.echo: [${columns}] does not tell the records apart: results are joined ${how}, because you say so`;
}
