/** Random numbers that can be repeated: the same seed and the same names always give the same number. */
import { createHash } from 'node:crypto';

/** @returns a number from 0 to below 1, which does not depend on earlier calls. */
export function seededRandom(...names: readonly (string | number)[]): number {
  return createHash('sha256').update(names.join('|')).digest().readUInt32BE(0) / 2 ** 32;
}
