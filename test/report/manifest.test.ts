import { describe, expect, it } from 'vitest';
import { manifestPath, markerPath, markerPaths, rejectsPath } from '../../src/report/manifest.js';

describe('beside an output', () => {
  it('stands one marker of three, and a rehearsal never looks real', () => {
    expect(markerPath('o.csv', false, 0)).toBe('o.csv._SUCCESS');
    expect(markerPath('o.csv', false, 3)).toBe('o.csv._PARTIAL');
    expect(markerPath('o.csv', true, 0)).toBe('o.csv._REHEARSAL');
    expect(markerPath('o.csv', true, 3)).toBe('o.csv._REHEARSAL');
    expect(markerPaths('o.csv').sort()).toEqual(['o.csv._PARTIAL', 'o.csv._REHEARSAL', 'o.csv._SUCCESS']);
  });

  it('stand manifest and rejects under its own name', () => {
    expect(manifestPath('a/o.csv')).toBe('a/o.csv.manifest.json');
    expect(rejectsPath('a/o.csv')).toBe('a/o.csv.rejects.csv');
  });
});
