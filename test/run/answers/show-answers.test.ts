/** Which stored answers count for a config, and until when. */
import { describe, expect, it } from 'vitest';
import { parseConfig } from '../../../src/config/load-config.js';
import { isExpired, showAnswers } from '../../../src/run/answers/show-answers.js';
import type { Segment } from '../../../src/types.js';
import { minimalWith } from '../../helpers/config/minimal-config.js';
import { DAY, NOW } from '../../helpers/reuse/nights.js';

const config = parseConfig(minimalWith({ reuse: { maxAge: '90d', failedAge: '7d', epoch: 'e1' } }), '/base');
const reuse = config.reuse;

function segment(changes: Partial<Segment> = {}): Segment {
  return {
    id: 'R1-1',
    run: 'R1',
    service: config.service.baseUrl!,
    rehearsal: false,
    sentColumns: Object.keys(config.upload.columns),
    columns: ['code'],
    epoch: 'e1',
    successful: 10,
    failed: 2,
    bytes: 1200,
    sha256: 'x',
    oldest: NOW - 3 * DAY,
    newest: NOW - DAY,
    ...changes,
  };
}

/** Every file is there. */
const stored = { sizeOfSegment: async () => 1200 };

async function unusedOf(changes: Partial<Segment>) {
  const { segments } = await showAnswers(config, { segments: async () => [segment(changes)] }, stored, NOW);
  return segments[0]!.unused;
}

describe('showAnswers', () => {
  it('says why answers are not taken', async () => {
    expect(await unusedOf({})).toBe(null);
    expect(await unusedOf({ service: 'other' })).toBe('service');
    expect(await unusedOf({ sentColumns: ['x'] })).toBe('columns');
    expect(await unusedOf({ epoch: '' })).toBe('epoch');
    expect(await unusedOf({ newest: NOW - 90 * DAY })).toBe('expired');
    expect(await unusedOf({ successful: 0, failed: 0 })).toBe('empty');
    expect(await unusedOf({ bytes: 1201 })).toBe('lost');
  });

  it('sums up what is taken, and all', async () => {
    const segments = [segment(), segment({ id: 'import-x-1', run: 'import-x', service: 'other', failed: 0 })];
    const shown = await showAnswers(config, { segments: async () => segments }, stored, NOW);
    expect(shown.taken).toEqual({ segments: 1, successful: 10, failed: 2, bytes: 1200, bytesPerRecord: 100 });
    expect(shown.all).toMatchObject({ segments: 2, successful: 20, failed: 2 });
    expect(shown.segments.map(({ from }) => from)).toEqual(['run', 'import']);
    expect(shown.segments.map(({ expires }) => expires)).toEqual([
      { successful: NOW + 89 * DAY, failed: NOW + 6 * DAY },
      { successful: NOW + 89 * DAY, failed: null },
    ]);
  });

  it('works without a state', async () => {
    expect(await showAnswers(config, undefined, stored, NOW)).toMatchObject({
      all: { bytesPerRecord: null },
    });
  });
});

describe('isExpired', () => {
  it.each([
    ['a SUCCESSFUL answer within maxAge', { newest: NOW - 89 * DAY, failed: 0 }, false],
    ['a SUCCESSFUL answer at maxAge', { newest: NOW - 90 * DAY, failed: 0 }, true],
    ['only FAILED ones within failedAge', { newest: NOW - 6 * DAY, successful: 0 }, false],
    ['only FAILED ones at failedAge', { newest: NOW - 7 * DAY, successful: 0 }, true],
    ['both at failedAge', { newest: NOW - 7 * DAY }, false],
    ['an empty one within maxAge', { newest: NOW - 8 * DAY, successful: 0, failed: 0 }, false],
  ])('%s', (_, changes, expired) => {
    expect(isExpired(segment(changes), reuse, NOW)).toBe(expired);
  });
});
