import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { progressText } from '../../../src/cli/display/progress.js';
import { eventText, progressBlock, type Shown } from '../../../src/cli/display/progress-block.js';
import { cellsOf } from '../../../src/cli/display/terminal.js';
import { someSnapshot } from '../../helpers/progress/some-snapshot.js';

const now = Date.UTC(2026, 10, 23, 3, 10);
const begun = someSnapshot(now, {
  state: 'open',
  records: 1_000_000,
  toSend: 1_000_000,
  answered: 412_000,
  chunks: 100,
  byState: { cut: 2, uploading: 3, submitted: 7, finished: 1, downloaded: 41 },
  merged: { chunks: 38, records: 380_000 },
  failed: {
    records: 1234,
    of: 412_000,
    reasons: [
      { code: 'SERVICE_FAILED', reason: 'no match for this name', records: 1000 },
      { code: 'SERVICE_FAILED', reason: null, records: 234 },
    ],
  },
  folios: {
    open: 7,
    admitted: null,
    oldest: [
      { chunk: 42, folio: 'f42', records: 10_000, ageMs: 125_000, percentage: 80.4 },
      { chunk: 43, folio: 'f43', records: 10_000, ageMs: 61_000, percentage: null },
    ],
  },
  rate: 1234.5,
  etaMs: 476_000,
  waits: [
    { on: 'throttle', since: now - 3_000, until: now + 12_000, why: 'the service answered 429' },
    { on: 'outage', since: now - 1_000, until: now + 7_200_000, why: 'track fails: ECONNRESET' },
  ],
});
const shown: Shown = { type: 'progress', ...begun };

describe('progressBlock', () => {
  it('shows a run at 80 columns', () => {
    expect(progressBlock(shown, now, 79)).toEqual([
      'nightly, sending, run 20261123T025000-4f9c1a, begun 20m ago',
      '[##########---------------] 41%  412,000 of 1,000,000 records  1,235/s  8m left',
      '41 of 100 chunks done: 2 cut, 3 uploading, 7 open, 1 downloading, 38 written',
      '7 open folios: chunk 42 80%, open for 2m, chunk 43 open for 1m, 5 more',
      '1,234 of 412,000 answered records failed (0.3%)',
      'reasons in 380,000 rows: 1,000 no match for this name, 234 SERVICE_FAILED',
      'the service asks to wait, 12s left: the service answered 429',
    ]);
  });

  it('says that it waits once every chunk is sent', () => {
    const byState = { ...begun.byState, cut: 0, uploading: 0, ambiguous: 0 };
    const [first] = progressBlock({ ...shown, byState, chunks: 100 }, now, 79);
    expect(first).toBe('nightly, waiting for answers, run 20261123T025000-4f9c1a, begun 20m ago');
    const [unknown] = progressBlock({ ...shown, byState, chunks: null }, now, 79);
    expect(unknown).toContain('nightly, sending,');
  });

  it('shortens long paths in their middle, so that the end of a line is seen', () => {
    const why = `run 7 of pipeline nightly has it (/srv/${'deep/'.repeat(20)}state)`;
    const waiting = { type: 'waiting', on: 'lock', since: now - 5_000, until: null, why } as const;
    const table = 'results of /srv/warehouse/a/very/long/path/to/the/place/of/nights/warehouse.duckdb';
    const load = {
      type: 'load',
      run: 'r',
      pipeline: 'nightly',
      publication: 3,
      state: 'begun',
      table,
    } as const;
    expect(progressBlock(waiting, now, 79)[0]).toMatch(/ nightly has it \(\/s\S*\.\.\.\S*state\)$/);
    expect(progressBlock(load as never, now, 79)[0]).toMatch(
      /^publication 3 is being loaded into results of \/srv\S+\.\.\.\S+warehouse\.duckdb$/,
    );
    expect(cellsOf(progressBlock(load as never, now, 79)[0]!)).toBe(79);
    expect(cellsOf(progressBlock(load as never, now, 40)[0]!)).toBe(40);
  });

  it('says how many folios the service admits, once it has refused more', () => {
    const full: Shown = { ...shown, folios: { ...begun.folios, admitted: 7 } };
    expect(progressBlock(full, now, 79)[3]).toMatch(/^7 open folios \(the service admits 7\): chunk 42 80%/);
  });

  it('leaves out what does not fit at 20 columns', () => {
    expect(progressBlock(shown, now, 20)).toEqual([
      'nightly, sending',
      '[#####---------] 41%',
      '41 of 100 chunks d..',
      '7 open folios',
      '1,234 of 412,000 a..',
      'reasons in 380,000..',
      'the service asks t..',
    ]);
  });

  it('counts on between two snapshots', () => {
    const later = progressBlock(shown, now + 10_000, 79);
    expect(later.at(-2)).toBe('the service asks to wait, 2s left: the service answered 429');
    expect(later.at(-1)).toMatch(/^outage for 11s, given up in 2h: track fails: ECONNRESET$/);
    expect(later[3]).toMatch(/^7 open folios: chunk 42 80%, open for 2m/);
  });

  it('never gives a line wider than the width, nor what could act on a terminal, nor a negative number', () => {
    const count = fc.nat(2_000_000_000);
    const text = fc.oneof(
      fc.string({ unit: 'grapheme', maxLength: 80 }),
      fc.constant('\u001b[2J\u202eevil\n'),
    );
    const any = fc.record({
      answered: count,
      toSend: count,
      records: count,
      chunks: fc.option(count),
      rate: fc.option(fc.double({ min: 0.001, max: 1e9, noNaN: true })),
      etaMs: fc.option(count),
      reason: text,
      pipeline: text,
      percentage: fc.option(fc.double({ min: 0, max: 100, noNaN: true })),
      written: count,
    });
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 200 }), any, fc.nat(100_000), (width, of, late) => {
        const plain = someSnapshot(now, { ...of, pipeline: 'nightly' });
        expect(progressBlock({ type: 'progress', ...plain }, now + late, 500).join()).not.toMatch(/[ (,]-\d/);
        const snapshot = someSnapshot(now, {
          ...of,
          merged: { chunks: 1, records: of.written },
          failed: { records: 7, of: 9, reasons: [{ code: 'SERVICE_FAILED', reason: of.reason, records: 7 }] },
          folios: {
            open: 9,
            admitted: null,
            oldest: [{ chunk: 1, folio: 'f', records: 1, ageMs: 1, percentage: of.percentage }],
          },
        });
        for (const line of progressBlock({ type: 'progress', ...snapshot }, now + late, width)) {
          expect(cellsOf(line)).toBeLessThanOrEqual(width);
          expect(line).not.toMatch(/[^\P{C}]/u);
        }
      }),
    );
  });

  it.each<[Exclude<Shown, { readonly type: 'progress' }>, string]>([
    [{ type: 'copy', bytes: 3072 }, 'copying the source: 3 KB'],
    [{ type: 'scan', bytes: 2048, records: 12_345 }, 'checking the source: 12,345 records, 2 KB'],
    [
      { type: 'waiting', on: 'lock', since: now - 5_000, until: now + 60_000, why: 'process 7 holds it' },
      'waiting for the lock for 5s, 1m left: process 7 holds it',
    ],
    [
      { type: 'load', run: 'r', pipeline: 'p', publication: 3, table: 't', state: 'begun', written: null },
      'publication 3 is being loaded into t',
    ],
  ])('tells %o', (event, text) => {
    expect(eventText(event, now)).toBe(text);
    expect(progressBlock(event, now, 79)).toEqual([text]);
  });
});

describe('progressText', () => {
  const text = (changes: Parameters<typeof someSnapshot>[1]) => progressText(someSnapshot(now, changes), now);

  it('shows the states of the chunks, and the time left at the rate so far', () => {
    const some = { records: 30, toSend: 30, answered: 10, merged: { chunks: 0, records: 0 } };
    const byState = { ambiguous: 1, submitted: 1, downloaded: 1 };
    const states = '1 ambiguous, 1 open folio, 1 downloaded, 0 merged';
    expect(text({ ...some, byState })).toBe(`10 of 30 records; chunks: ${states}`);
    expect(text({ ...some, byState, chunks: 3, rate: 2, etaMs: 10_000 })).toBe(
      `10 of 30 records, 2.0/s, 10s left; of 3 chunks: ${states}`,
    );
  });

  it('of a run with known answers is about what is sent, and about the rows', () => {
    const some = { records: 29, toSend: 19, answered: 10, byState: { downloaded: 1 } };
    expect(text(some)).toBe(
      '10 of 19 records to send; chunks: 0 open folios, 1 downloaded, 0 merged; 0 of 29 rows written',
    );
    expect(text({ ...some, toSend: 0, answered: 0 })).toBe('nothing to send; 0 of 29 rows written');
  });

  it('tells records that are sent again apart', () => {
    const some = { records: 29, toSend: 19, sentAgain: 11, answered: 30, byState: { downloaded: 3 } };
    expect(text(some)).toMatch(/^30 of 30 records to send \(11 sent again\); chunks: 0 open folios, 3 downl/);
  });
});
