/**
 * Lists of answers that have changed (`output.drift`): written to local files first, then put beside the output. A kill
 * may leave either of the two.
 */
import { stringify } from 'csv-stringify/sync';
import type { Publication } from '../../checkpoint/checkpoint.js';
import type { KeyDifference } from '../../delta/list-drift.js';
import {
  isLocalFile,
  removeLocalFile,
  waitsOrIsInPlace,
  workPathOf,
  writeLocalFile,
} from '../../files/work-file.js';
import { driftPath, keyDriftPath } from '../../report/publication-files.js';
import type { RunContext } from '../../run-context.js';
import { hashFile } from '../../streams/file-identity.js';

type ListRun = Pick<RunContext, 'id' | 'config' | 'output'>;

/** `drift`: answers for the same sent fields. `keyDrift`: answers for the same key. */
const PLACES = { drift: driftPath, keyDrift: keyDriftPath };
type ListName = keyof typeof PLACES;
const LISTS = Object.keys(PLACES) as readonly ListName[];

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
  const waiting = waitingPath(run, list);
  const result = await writeLocalFile(waiting, (append) => {
    append(stringify([[RECORD, ...key.map(nameOfKey), ...DIFFERENCE]]));
    return fill((differences) => append(stringify([...differences])));
  });
  if (!isAny(result)) await removeLocalFile(waiting);
  return result;
}

/** Removes what an earlier attempt to publish has left. */
export async function removeWaitingLists(run: ListRun): Promise<void> {
  for (const list of LISTS) await removeLocalFile(waitingPath(run, list));
}

/** The lists that wait for `putLists`. */
export async function hashWaitingLists(run: ListRun): Promise<NonNullable<Publication['lists']>> {
  const found = await Promise.all(LISTS.map((list) => hashFile(waitingPath(run, list))));
  return Object.fromEntries(LISTS.flatMap((list, at) => (found[at] ? [[list, found[at]]] : [])));
}

/** Whether each list of the publication waits for `putLists`, or is in place already. */
export async function hasLists(run: ListRun, { lists = {} }: Publication): Promise<boolean> {
  for (const list of LISTS) {
    const content = lists[list];
    if (content === undefined) continue;
    const name = PLACES[list](run.config.output.path);
    if (!(await waitsOrIsInPlace(run.output, waitingPath(run, list), name, content))) return false;
  }
  return true;
}

/** Puts the lists of the publication in place. Removes an old one, which belongs to another output. */
export async function putLists(run: ListRun, { drift, delta }: Publication): Promise<void> {
  const { path, mode, drift: isWanted } = run.config.output;
  const compared = { drift, keyDrift: delta?.drift };
  for (const list of LISTS) {
    const [waiting, name] = [waitingPath(run, list), PLACES[list](path)];
    if (!isWanted || compared[list] === undefined) await run.output.remove(name);
    // The local file is missing if a killed process has already put it in place.
    else if (await isLocalFile(waiting)) await run.output.put(waiting, name, mode);
  }
}

function waitingPath({ id, config }: ListRun, list: ListName): string {
  return workPathOf(PLACES[list](config.output.path), id, config.stateDir);
}

/** A column of the key has its own name, unless the list has one of that name. */
function nameOfKey(column: string): string {
  return [RECORD, ...DIFFERENCE].includes(column) ? `key_${column}` : column;
}
