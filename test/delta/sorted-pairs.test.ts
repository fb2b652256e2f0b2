import { expect, it } from 'vitest';
import { SortedPairs } from '../../src/delta/sorted-pairs.js';
import { shuffled } from '../helpers/csv/generated-csv.js';
import { withFolder } from '../helpers/folders/folders.js';

it('gives all pairs by their first numbers, in whatever order they came', () =>
  withFolder(async (folder) => {
    const all = Array.from({ length: 1_000 }, (_, at) => [at, 1_000 - at, at % 7] as const);
    const pairs = new SortedPairs(all.length, folder);
    for (const pair of shuffled(all, 1)) pairs.add(...pair);
    expect([...pairs.sorted()]).toEqual(all);
    pairs.close();
  }));
