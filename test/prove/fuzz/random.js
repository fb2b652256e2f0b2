/** Random values for the proofs: the same seed always gives the same values. */
import { createDice } from '../../../bench/dice.js';

/** The seed of an iteration: far from all others, and computed from the proof's own seed, the kind and the place. */
export function iterationSeed(seed, kind, at) {
  const roll = createDice(Math.imul(seed + 1, 0x9e3779b1) ^ Math.imul(kind + 1, 0x85ebca6b) ^ at);
  roll(1);
  return roll(2 ** 32);
}

export function createRandom(seed) {
  const below = createDice(seed);
  const between = (least, most) => least + below(most - least + 1);
  const pick = (items) => items[below(items.length)];
  return {
    /** A whole number from 0 up to `limit`, which is excluded. */
    below,
    /** A whole number, both ends included. */
    between,
    pick,
    /** True about once in `times` calls. */
    once: (times) => below(times) === 0,
    /** From `least` to `most` things. */
    some: (least, most, make) => Array.from({ length: between(least, most) }, (_, at) => make(at)),
    shuffled: (items) => {
      const mixed = [...items];
      for (let at = mixed.length - 1; at > 0; at--) {
        const other = below(at + 1);
        [mixed[at], mixed[other]] = [mixed[other], mixed[at]];
      }
      return mixed;
    },
  };
}
