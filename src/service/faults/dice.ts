/** Chance that can be repeated: the same seed and the same names always give the same number. */
import { createHash } from 'node:crypto';

/** @returns a number from 0 up to, but not, 1; independent of what was rolled before. */
export function rollDice(...names: readonly (string | number)[]): number {
  return createHash('sha256').update(names.join('|')).digest().readUInt32BE(0) / 2 ** 32;
}
