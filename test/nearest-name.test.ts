import { describe, expect, it } from 'vitest';
import { lookalikeName, nearestName } from '../src/nearest-name.js';

const names = ['chunks', 'maxRecords', 'giveUpAfter'];

describe('nearestName', () => {
  it.each([
    ['chunk', 'chunks'],
    ['maxRecrods', 'maxRecords'],
    ['giveUp', undefined],
    ['x', undefined],
  ])('of %s is %s', (wrong, meant) => {
    expect(nearestName(wrong, names)).toBe(meant);
  });
});

describe('lookalikeName', () => {
  it('ignores case, blanks, quotes and characters that are not shown', () => {
    for (const name of ['Business Name', '\u201cbusinessname\u201d', 'Business\u200bName']) {
      expect(lookalikeName('BusinessName', ['State', name])).toBe(name);
    }
  });
  it('does not correct letters', () => {
    expect(lookalikeName('BusinesName', ['BusinessName'])).toBeUndefined();
  });
});
