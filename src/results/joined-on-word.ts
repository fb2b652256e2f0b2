/** Whether `result.echo` names too little to tell the records apart: then only the person's word joins the results. */
import type { ColumnKinds } from '../types.js';
import { type SentField, sentText } from './echo-kinds.js';
import type { Joined } from './joined.js';
import { isTooIndistinct } from './judge-join.js';
import type { RecordBlock } from './record-block.js';

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
