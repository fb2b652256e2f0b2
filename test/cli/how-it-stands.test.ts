import { describe, expect, it } from 'vitest';
import { standOf, standText } from '../../src/cli/how-it-stands.js';
import { someSnapshot } from '../helpers/progress/some-snapshot.js';

const records = { ...someSnapshot(0).recordsByState };
const textOf = (changes: Parameters<typeof someSnapshot>[1]) => standText(standOf(someSnapshot(0, changes))!);
const run = 'run 20261123T025000-4f9c1a';

describe('standText', () => {
  it('tells what is paid, fetched, open and doubtful', () => {
    const recordsByState = { ...records, submitted: 20, finished: 10, downloaded: 10, ambiguous: 10 };
    expect(textOf({ recordsByState, byState: { submitted: 2, finished: 1 } })).toBe(
      `${run}: 40 of 60 records are paid for, 10 of them are fetched; 3 folios with 30 records go on at the service; 10 records may have been accepted`,
    );
    expect(textOf({ recordsByState: { ...records, downloaded: 10 }, rehearsal: true })).toBe(
      'rehearsal 20261123T025000-4f9c1a: 10 of 60 records are sent, 10 of them are fetched',
    );
  });

  it('of a run that has paid nothing says so', () => {
    expect(textOf({})).toBe(`${run}: nothing is paid for yet`);
    expect(textOf({ recordsByState: { ...records, uploading: 1 } })).toBe(
      `${run}: nothing is paid for yet; 1 record may have been accepted`,
    );
  });
});

it('a run that has ended has no stand', () => {
  expect(standOf(undefined)).toBeUndefined();
  expect(standOf(someSnapshot(0, { state: 'done' }))).toBeUndefined();
});
