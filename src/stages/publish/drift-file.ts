/**
 * A list of answers that have changed (`output.drift`): written to a local file first, then put beside the output. A
 * kill may leave either of the two.
 */
import { stringify } from 'csv-stringify/sync';
import type { KeyDifference } from '../../delta/list-drift.js';
import { isLocalFile, removeLocalFile, workPathOf, writeLocalFile } from '../../files/work-file.js';
import type { RunContext } from '../../run-context.js';

/** One of the lists of an output. */
export interface DriftFile {
  /**
   * Writes the local file, and replaces an old one.
   * @param fill gets a function that appends rows. The file is removed if it returns undefined: there is nothing to
   *   list.
   */
  write<T>(fill: (append: AppendDifferences) => Promise<T>): Promise<T>;
  /**
   * Puts the local file in place.
   * @param isListed whether the publication has such a list; otherwise an old one is removed.
   */
  put(isListed: boolean): Promise<void>;
  /** Removes what an earlier attempt to publish has left. */
  removeWaiting(): Promise<void>;
}

export type AppendDifferences = (differences: readonly KeyDifference[]) => void;

/** The columns of a list, without the key, which follows the record. */
const RECORD = 'record';
const DIFFERENCE = ['column', 'before', 'now'];

/**
 * @param pathOf gives the list's place beside an output.
 * @param key the columns of the source whose values name a record, and follow its number.
 */
export function driftFile(
  { id, config, output }: Pick<RunContext, 'id' | 'config' | 'output'>,
  pathOf: (output: string) => string,
  key: readonly string[] = [],
): DriftFile {
  const path = pathOf(config.output.path);
  const waiting = workPathOf(path, id, config.stateDir);
  return {
    write: async (fill) => {
      const result = await writeLocalFile(waiting, (append) => {
        append(stringify([[RECORD, ...key.map(nameOfKey), ...DIFFERENCE]]));
        return fill((differences) => append(stringify([...differences])));
      });
      if (result === undefined) await removeLocalFile(waiting);
      return result;
    },
    put: async (isListed) => {
      // The local file is missing too if a killed process has already put it in place.
      if (await isLocalFile(waiting)) await output.put(waiting, path, config.output.mode);
      else if (!isListed) await output.remove(path);
    },
    removeWaiting: () => removeLocalFile(waiting),
  };
}

/** A column of the key has its own name, unless the list has one of that name. */
function nameOfKey(column: string): string {
  return [RECORD, ...DIFFERENCE].includes(column) ? `key_${column}` : column;
}
