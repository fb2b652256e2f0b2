import { describe, expect, it } from 'vitest';
import type { LoadRequest } from '../../src/load/load-target.js';
import { type EarlierLoad, isLoaded, takesDelta } from '../../src/load/order-of-loads.js';

const open = async function* () {};
const request: LoadRequest = {
  pipeline: 'nightly',
  table: 'businesses',
  mode: 'merge',
  onSchema: 'fail',
  onRemoved: 'delete',
  columns: [],
  run: 'run-b',
  publication: 5,
  file: { bytes: 1, sha256: 'b', records: 1, open },
  delta: { base: { publication: 4, sha256: 'a' }, bytes: 1, sha256: 'd', records: 1, open },
};
const last: EarlierLoad = { publication: 4, run: 'run-a', sha256: 'a', mode: 'merge', onRemoved: 'delete' };

describe('isLoaded', () => {
  it('goes on with a first and with a newer publication', () => {
    expect(isLoaded(request, undefined)).toBe(false);
    expect(isLoaded(request, last)).toBe(false);
  });

  it('knows the same publication, and refuses another one of its number and an older one', () => {
    expect(isLoaded(request, { ...last, publication: 5, run: 'run-b', sha256: 'b' })).toBe(true);
    const other = (change: object) => () => isLoaded(request, { ...last, publication: 5, ...change });
    expect(other({ run: 'run-b', sha256: 'c' })).toThrow(expect.objectContaining({ code: 'LOAD_CONFLICT' }));
    expect(other({ run: 'run-c', sha256: 'b' })).toThrow(expect.objectContaining({ code: 'LOAD_CONFLICT' }));
    expect(other({ publication: 6 })).toThrow(expect.objectContaining({ code: 'LOAD_OLDER', exitCode: 2 }));
  });
});

describe('takesDelta', () => {
  it.each<[string, boolean, Partial<LoadRequest>, Partial<EarlierLoad> | undefined]>([
    ['after its base', true, {}, {}],
    ['before the first load', false, {}, undefined],
    ['without a delta', false, { delta: null }, {}],
    ['after another publication', false, {}, { publication: 3 }],
    ['after another content of that number', false, {}, { sha256: 'x' }],
    ['in mode replace', false, { mode: 'replace' }, {}],
    [
      'after a load in mode replace, which left nothing else',
      true,
      {},
      { mode: 'replace', onRemoved: 'keep' },
    ],
    ['after a load in mode append', false, {}, { mode: 'append' }],
    ['and where removed rows are left', false, { onRemoved: 'keep' }, { mode: 'append', onRemoved: 'keep' }],
    ['where earlier loads have left removed rows', false, {}, { onRemoved: 'keep' }],
    ['where removed rows are left anyway', true, { onRemoved: 'keep' }, { onRemoved: 'keep' }],
  ])('%s: %s', (_, expected, change, before) => {
    const earlier = before === undefined ? undefined : { ...last, ...before };
    expect(takesDelta({ ...request, ...change }, earlier, [])).toBe(expected);
  });

  it('is not enough for a table that lacks a column of the output', () => {
    expect(takesDelta(request, last, ['note'])).toBe(false);
  });
});
