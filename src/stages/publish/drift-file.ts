/**
 * Lists of answers that have changed (`output.drift`): written to local files first, then put beside the output. A kill
 * may leave either of the two.
 */
import { stringify } from 'csv-stringify/sync';
import type { Publication } from '../../checkpoint/checkpoint.js';
import type { KeyDifference } from '../../delta/list-drift.js';
import { removeLocalFile, writeLocalFile } from '../../files/work-file.js';
import type { RunContext } from '../../run-context.js';
import { hashFile } from '../../streams/file-identity.js';
import { type BesideFile, waitingBeside } from './beside-output.js';

type ListRun = Pick<RunContext, 'id' | 'config'>;

const LISTS = ['drift', 'keyDrift'] as const satisfies readonly BesideFile[];
type ListName = (typeof LISTS)[number];

export type AppendDifferences = (differences: readonly KeyDifference[]) => void;

/** The columns of a list, without the key, which follows the record. */
const RECORD = 'record';
const DIFFERENCE = ['column', 'before', 'now'];

/**
 * Writes the local file of a list, and replaces an old one.
 * @param key the columns of the source whose values name a record, and follow its number.
 * @param fill gets a function that appends rows.
 * @param isAny whether something was compared. If not, there is no list, and the file is removed.
 */
export async function writeList<T>(
  run: ListRun,
  list: ListName,
  key: readonly string[],
  fill: (append: AppendDifferences) => Promise<T>,
  isAny: (result: T) => boolean,
): Promise<T> {
  const waiting = waitingBeside(run, list);
  const result = await writeLocalFile(waiting, (append) => {
    append(stringify([[RECORD, ...key.map(nameOfKey), ...DIFFERENCE]]));
    return fill((differences) => append(stringify([...differences])));
  });
  if (!isAny(result)) await removeLocalFile(waiting);
  return result;
}

/** Removes what an earlier attempt to publish has left. */
export async function removeWaitingLists(run: ListRun): Promise<void> {
  for (const list of LISTS) await removeLocalFile(waitingBeside(run, list));
}

/** The lists that wait for `putBeside`. */
export async function hashWaitingLists(run: ListRun): Promise<NonNullable<Publication['lists']>> {
  const found = await Promise.all(LISTS.map((list) => hashFile(waitingBeside(run, list))));
  return Object.fromEntries(LISTS.flatMap((list, at) => (found[at] ? [[list, found[at]]] : [])));
}

/** A column of the key has its own name, unless the list has one of that name. */
function nameOfKey(column: string): string {
  return [RECORD, ...DIFFERENCE].includes(column) ? `key_${column}` : column;
}
