import { describe, expect, it } from 'vitest';
import { markerPath, markerPaths } from '../../src/report/publication-files.js';

describe('beside an output', () => {
  it('stands one marker of four, and neither a rehearsal nor a sample looks like a night', () => {
    const night = { rehearsal: false, source: {} };
    const sample = { rehearsal: false, source: { limit: 100 } };
    expect(markerPath('o.csv', night, 0)).toBe('o.csv._SUCCESS');
    expect(markerPath('o.csv', night, 3)).toBe('o.csv._PARTIAL');
    expect(markerPath('o.csv', sample, 0)).toBe('o.csv._SAMPLE');
    expect(markerPath('o.csv', sample, 3)).toBe('o.csv._SAMPLE');
    for (const one of [night, sample]) {
      expect(markerPath('o.csv', { ...one, rehearsal: true }, 0)).toBe('o.csv._REHEARSAL');
      expect(markerPath('o.csv', { ...one, rehearsal: true }, 3)).toBe('o.csv._REHEARSAL');
    }
    const all = ['o.csv._PARTIAL', 'o.csv._REHEARSAL', 'o.csv._SAMPLE', 'o.csv._SUCCESS'];
    expect(markerPaths('o.csv').sort()).toEqual(all);
  });
});
