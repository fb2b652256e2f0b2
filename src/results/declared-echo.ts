/**
 * Checks whether the columns of `result.echo` identify enough records. If they do not, nothing proves the join, and
 * foliopipe trusts the user's setting.
 */
import { fieldValue } from '../csv/table.js';
import { freeMemory } from '../streams/large-buffers.js';
import type { JoinMethod } from '../types.js';
import { indexesWithStatus, type SentField } from './column-kinds.js';
import { groupsWithEqual, type KnownChunk } from './find-swaps.js';
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
  const isEcho = ({ column }: SentField) => {
    const kind = kinds[column];
    return declared.includes(column) && (kind === 'exact' || kind === 'folded');
  };
  const textsOf = (some: readonly SentField[]) =>
    some.map(
      ({ sourceField }) =>
        (index: number) =>
          fieldValue(records, index, sourceField),
    );
  const sent = textsOf(fields);
  const sentOf = (index: number) => sent.map((textOf) => textOf(index)).join('\0');
  const successes = indexesWithStatus(joined, records, ['SUCCESSFUL']);
  const confusable = groupsWithEqual(textsOf(fields.filter(isEcho)), successes).filter(
    (group) => new Set(group.map(sentOf)).size > 1,
  );
  const isWeak = isTooIndistinct(
    confusable.reduce((sum, { length }) => sum + length, 0),
    successes.length,
  );
  freeMemory(successes);
  return isWeak;
}

/** The warning for a run that trusts a weak `result.echo`. @param method with `isOnWord`. */
export function weakEchoText({ by, judged }: JoinMethod): string {
  const columns = judged?.declared?.join(', ') ?? '';
  const how = by === 'key' ? "by the record's number alone" : 'by equal values in order';
  return `result.echo: [${columns}] does not tell the records apart: results are joined ${how}, because you say so`;
}
