/**
 * The dictionary of a segment: values that its blocks may repeat. A small segment has few entries in each block, so that
 * most repetitions are found in the dictionary alone.
 */
import { HASH_INTS } from '../csv/kernel/hash-kernel.js';
import { Scratch } from './append-file.js';
import { type Lane, readExtent, temporaryDamaged } from './lanes.js';
import { ENTRY_INTS, valueInts } from './segment-format.js';

/** Most numbers of a dictionary: 64 KiB. */
const MAX_INTS = 16 * 1024;
/** Most values that are looked at. */
const SAMPLE_VALUES = 16 * 1024;
/** Values that begin with the same numbers are taken for one: answers with the same code have the same title. */
const PREFIX_INTS = 2;

/** @param fd of the file that holds the lanes of a segment's entries. */
export function chooseDictionary(fd: number, lanes: readonly Lane[]): Int32Array {
  const chosen = new Int32Array(MAX_INTS);
  const prefixes = new Set<string>();
  const scratch = new Scratch();
  let filled = 0;
  let seen = 0;
  for (const lane of lanes) {
    for (let extent = 0; extent < lane.sizes.length && seen < SAMPLE_VALUES; extent++) {
      const size = lane.sizes[extent]!;
      const ints = scratch.ints(size);
      readExtent(fd, lane, extent, ints.subarray(0, size), temporaryDamaged);
      for (let at = 0; at < size && seen < SAMPLE_VALUES; seen++) {
        const from = at + HASH_INTS + ENTRY_INTS;
        const words = valueInts(ints[from - 1]!);
        at = from + words;
        if (words < PREFIX_INTS || filled + words > MAX_INTS) continue;
        const prefix = `${ints[from]} ${ints[from + 1]}`;
        if (prefixes.has(prefix)) continue;
        prefixes.add(prefix);
        chosen.set(ints.subarray(from, from + words), filled);
        filled += words;
      }
    }
  }
  return chosen.subarray(0, filled);
}
