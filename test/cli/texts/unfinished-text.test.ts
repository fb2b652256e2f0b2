import { describe, expect, it } from 'vitest';
import { laterRunText, partialLines, standOf, standText } from '../../../src/cli/texts/unfinished-text.js';
import { someSnapshot } from '../../helpers/progress/some-snapshot.js';

const records = { ...someSnapshot(0).recordsByState };
const textOf = (changes: Parameters<typeof someSnapshot>[1]) => standText(standOf(someSnapshot(0, changes))!);
const run = 'run 20261123T025000-4f9c1a';

describe('standText', () => {
  it('says what is paid, fetched, open and doubtful', () => {
    const recordsByState = { ...records, submitted: 20, finished: 10, downloaded: 10, ambiguous: 10 };
    expect(textOf({ recordsByState, byState: { submitted: 2, finished: 1 } })).toBe(
      `${run}: 40 of 60 records are paid for, 10 of them are fetched; 3 folios with 30 records are still at the service; 10 records may have been accepted`,
    );
    const ready = { ...records, finished: 10, downloaded: 50 };
    expect(textOf({ recordsByState: ready, byState: { finished: 1 } })).toBe(
      `${run}: 60 of 60 records are paid for, 50 of them are fetched; 1 folio with 10 records is still at the service`,
    );
    expect(textOf({ recordsByState: { ...records, downloaded: 10 }, rehearsal: true })).toBe(
      'rehearsal 20261123T025000-4f9c1a: 10 of 60 records are sent, 10 of them are fetched',
    );
  });

  it('counts records that are sent again on both sides', () => {
    expect(textOf({ recordsByState: { ...records, downloaded: 80 }, sentAgain: 25 })).toBe(
      `${run}: 80 of 85 records are paid for, 80 of them are fetched`,
    );
  });

  it('names chunks that were given up, which are paid for too', () => {
    expect(textOf({ recordsByState: { ...records, downloaded: 50, unprocessed: 10 } })).toBe(
      `${run}: 50 of 60 records are paid for, 50 of them are fetched; 10 records are given up (paid for, or perhaps)`,
    );
    expect(textOf({ recordsByState: { ...records, unprocessed: 1 } })).toBe(
      `${run}: 1 record is given up (paid for, or perhaps); nothing else is paid for yet`,
    );
  });

  it('of a run that has paid nothing says so', () => {
    expect(textOf({})).toBe(`${run}: nothing is paid for yet`);
    expect(textOf({ recordsByState: { ...records, uploading: 1 } })).toBe(
      `${run}: nothing is paid for yet; 1 record may have been accepted`,
    );
  });
});

it('a run that has ended has no progress to show', () => {
  expect(standOf(undefined)).toBeUndefined();
  expect(standOf(someSnapshot(0, { state: 'done' }))).toBeUndefined();
});

describe('laterRunText', () => {
  const later = (changes: Parameters<typeof someSnapshot>[1]) => laterRunText(someSnapshot(0, changes));

  it('says what the next run waits for, decides on and sends', () => {
    const recordsByState = { ...records, cut: 5, submitted: 20, downloaded: 10, ambiguous: 10 };
    expect(later({ recordsByState, byState: { submitted: 2 } })).toBe(
      'waits for 2 open folios with 20 records, decides on 10 records that may have been accepted, sends 20 records, and publishes the whole output',
    );
    const fetched = {
      recordsByState: { ...records, finished: 10, downloaded: 50 },
      byState: { finished: 1 },
    };
    expect(later(fetched)).toBe('fetches 1 finished folio with 10 records, and publishes the whole output');
    expect(later({ state: 'publishing' })).toBe('puts the output in place; nothing more is sent');
  });
});

describe('partialLines', () => {
  const counts = { read: 60, successful: 38, failed: 2, unprocessed: 20, rejected: 0 };
  const partial = {
    publication: 3,
    path: 'out.csv',
    exitCode: 8,
    at: null,
    counts,
    failedBy: [],
    inPlace: true,
    heldBy: null,
  };
  const text = (changes: object) =>
    partialLines({ partial: { ...partial, ...changes } })
      .map((line) => line.trim())
      .join(' ');

  it('names a partial output, where it is, and what it lacks', () => {
    expect(text({})).toBe(
      'partial   publication 3 (exit 8) is at out.csv until the run is complete: 20 of its 60 records are UNPROCESSED',
    );
    expect(text({ inPlace: false })).toContain('was put at out.csv, and is missing or was changed: 20 of');
    const heldBy = { publication: 4, run: 'R' };
    expect(text({ inPlace: false, heldBy })).toContain(
      'is no longer at out.csv, which holds publication 4 of run R',
    );
    expect(partialLines({ partial: null })).toEqual([]);
  });
});
