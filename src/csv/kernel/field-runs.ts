/** Fields to write, as runs of neighbours: what stands side by side in a comma CSV is copied at once. */
import { COMMA } from '../ascii.js';

/**
 * @param fields places in a record, in the order to be written in; -1 for one that is to be empty.
 * @param delimiter of the record, a byte.
 * @returns the first and the last field of each run, as assembly/field.ts takes them.
 */
export function fieldRuns(fields: readonly number[], delimiter: number): Int32Array<ArrayBuffer> {
  const runs: number[] = [];
  for (const field of fields) {
    const follows = delimiter === COMMA && field > 0 && runs.at(-1) === field - 1;
    if (follows) runs[runs.length - 1] = field;
    else runs.push(field, field);
  }
  return Int32Array.from(runs);
}
