import { describe, expect, it } from 'vitest';
import type { Upload } from '../../src/checkpoint/checkpoint.js';
import {
  addEntries,
  emptyTotals,
  type LedgerEntry,
  ledgerEntries,
  ledgerReuse,
  readLedger,
} from '../../src/report/ledger.js';
import { originsOf } from '../../src/report/origins.js';
import { noRows } from '../../src/results/row-counts.js';
import { addChunk, beginUpload, sampleReply } from '../helpers/checkpoint/advance-chunk.js';
import { sampleChoice, samplePublication, sampleRun } from '../helpers/checkpoint/samples.js';
import { createMemoryCheckpoint } from '../helpers/memory/memory-checkpoint.js';

const nightly = { id: 'r1', pipeline: 'nightly', isLocal: false, isSample: false };
const upload = (chunk: number, attempt: number, state: Upload['state']): Upload => ({
  run: 'r1',
  chunk,
  attempt,
  fileName: `nightly-r1-${chunk}-${attempt}-0a1b2c3d.csv`,
  records: 10,
  state,
  doubt: state === 'ambiguous' ? 'no-reply' : null,
  local: state === 'accepted' ? false : null,
  folio: state === 'accepted' ? `F${chunk}` : null,
  serviceRecords: state === 'accepted' ? 10 : null,
  startedAt: 1,
  endedAt: 2,
});
const totalsOf = (entries: readonly LedgerEntry[], price: number | null) =>
  addEntries(emptyTotals(price), entries, price);

describe('ledger entries', () => {
  it('are the attempts that were, or may have been, paid for', () => {
    const uploads = [
      upload(1, 1, 'dropped'),
      upload(1, 2, 'accepted'),
      upload(2, 1, 'ambiguous'),
      upload(2, 2, 'dropped'),
      upload(2, 3, 'accepted'),
      upload(3, 1, 'accepted'),
      upload(4, 1, 'intent'),
    ];
    const entries = ledgerEntries(nightly, uploads, 0.1);
    expect(
      entries.map(({ chunk, attempt, state, possiblyTwice, sentAgain }) => [
        ...[chunk, attempt, state, possiblyTwice, sentAgain],
      ]),
    ).toEqual([
      [1, 2, 'accepted', false, false],
      [2, 1, 'ambiguous', true, true],
      [2, 3, 'accepted', true, true],
      [3, 1, 'accepted', false, false],
      [4, 1, 'ambiguous', true, false],
    ]);
    expect(entries[0]).toEqual({
      pipeline: 'nightly',
      run: 'r1',
      chunk: 1,
      attempt: 2,
      kind: 'upload',
      fileName: 'nightly-r1-1-2-0a1b2c3d.csv',
      folio: 'F1',
      at: 1,
      state: 'accepted',
      records: 10,
      serviceRecords: 10,
      price: 1,
      possiblyTwice: false,
      sentAgain: false,
      rehearsal: false,
      sample: false,
    });
    expect(totalsOf(entries, 0.1)).toEqual({
      uploads: 5,
      searches: 0,
      records: 50,
      possiblyTwice: 30,
      amount: 5,
      ...{ rehearsalUploads: 0, rehearsalSearches: 0, rehearsalRecords: 0 },
    });
  });

  it('have no price where none is set, and no binary fraction where one is', () => {
    const uploads = [{ ...upload(1, 1, 'accepted'), records: 3 }];
    expect(ledgerEntries(nightly, uploads, null)[0]?.price).toBeNull();
    expect(totalsOf(ledgerEntries(nightly, uploads, null), null).amount).toBeNull();
    expect(ledgerEntries(nightly, uploads, 0.1)[0]?.price).toBe(0.3);
    expect(totalsOf(ledgerEntries(nightly, uploads, 0.1), 0.1).amount).toBe(0.3);
  });

  it('are priced each by its own reply, and what has none by all replies of its run', () => {
    const uploads = [
      { ...upload(1, 1, 'accepted'), local: true },
      upload(2, 1, 'accepted'),
      upload(3, 1, 'ambiguous'),
    ];
    const priced = (isLocal: boolean) =>
      ledgerEntries({ ...nightly, isLocal }, uploads, 0.1).map(({ price, rehearsal }) => [price, rehearsal]);
    expect(priced(false)).toEqual([
      [0, true],
      [1, false],
      [1, false],
    ]);
    expect(priced(true)[2]).toEqual([0, true]);
  });

  it('of a rehearsal cost nothing', () => {
    const entries = ledgerEntries({ ...nightly, isLocal: true }, [upload(1, 1, 'ambiguous')], 0.1);
    expect(entries).toMatchObject([{ price: 0, rehearsal: true }]);
    expect(totalsOf(entries, 0.1)).toEqual({
      uploads: 1,
      searches: 0,
      records: 0,
      possiblyTwice: 0,
      amount: 0,
      ...{ rehearsalUploads: 1, rehearsalSearches: 0, rehearsalRecords: 10 },
    });
  });
});

describe('the ledger', () => {
  it('goes through all pages of all runs, oldest first, of one pipeline or of all', async () => {
    const checkpoint = createMemoryCheckpoint();
    await checkpoint.recordRun(sampleRun('r1', { createdAt: 1_000 }));
    await checkpoint.recordRun(sampleRun('r2', { createdAt: 2_000 }));
    await checkpoint.recordRun(sampleRun('r3', { createdAt: 3_000, pipeline: 'other' }));
    for (const run of ['r1', 'r2', 'r3']) {
      const chunks = run === 'r2' ? 1_001 : 1;
      for (let chunk = 1; chunk <= chunks; chunk++) await addChunk(checkpoint, run, chunk, 'submitted');
    }
    const read = async (pipeline?: string) => {
      const found: string[] = [];
      const terms = { timeZone: 'UTC', pricePerRecord: null };
      for await (const { run, chunk } of readLedger(checkpoint, pipeline, terms))
        found.push(`${run}.${chunk}`);
      return found;
    };
    const mine = ['r1.1', ...Array.from({ length: 1_001 }, (_, at) => `r2.${at + 1}`)];
    expect(await read('nightly')).toEqual(mine);
    expect(await read()).toEqual([...mine, 'r3.1']);
  });

  it('sums up the searches of a run by their day and end, after it was pruned too', async () => {
    const checkpoint = createMemoryCheckpoint();
    await checkpoint.recordRun(sampleRun('r1'));
    const budget = { day: '2026-11-21', perRun: null, perDay: null, perMonth: null };
    const noon = Date.UTC(2026, 10, 21, 12);
    const ends = ['answered', 'answered', 'dropped', 'ambiguous', 'answered'] as const;
    for (const [at, state] of ends.entries()) {
      const begun = at === 4 ? noon + 24 * 60 * 60 * 1000 : noon + at;
      await checkpoint.recordSearchIntent('r1', at + 1, begun, budget);
      await checkpoint.recordSearchEnd(
        'r1',
        at + 1,
        state === 'answered' ? { state, values: null } : { state },
      );
    }
    await checkpoint.recordSuperseded('r1', noon);
    await checkpoint.recordPruned('r1', noon);
    const entries: LedgerEntry[] = [];
    const terms = { timeZone: 'UTC', pricePerRecord: 0.5 };
    for await (const entry of readLedger(checkpoint, 'nightly', terms)) entries.push(entry);
    expect(entries.map(({ kind, at, state, records, price }) => [kind, at, state, records, price])).toEqual([
      ['search', noon, 'accepted', 2, 1],
      ['search', noon + 3, 'ambiguous', 1, 0.5],
      ['search', noon + 24 * 60 * 60 * 1000, 'accepted', 1, 0.5],
    ]);
    expect(totalsOf(entries, 0.5)).toMatchObject({ uploads: 0, searches: 4, records: 4, amount: 2 });
  });

  it('knows the months of a time zone, and what was ambiguous in the one before', async () => {
    const checkpoint = createMemoryCheckpoint();
    await checkpoint.recordRun(sampleRun('r1'));
    await addChunk(checkpoint, 'r1', 1, 'cut');
    const lastOfOctober = Date.UTC(2026, 9, 31, 23, 59);
    await beginUpload(checkpoint, 'r1', 1, lastOfOctober);
    await checkpoint.recordAmbiguous('r1', 1, lastOfOctober, 'no-reply');
    await beginUpload(checkpoint, 'r1', 1, Date.UTC(2026, 10, 1, 0, 0));
    await checkpoint.recordAccepted('r1', 1, sampleReply(1), Date.UTC(2026, 10, 1, 0, 1));
    const attempts = async (month: string, timeZone: string) => {
      const found: string[] = [];
      const terms = { month, timeZone, pricePerRecord: null };
      for await (const { attempt, possiblyTwice } of readLedger(checkpoint, undefined, terms)) {
        found.push(`${attempt} ${possiblyTwice}`);
      }
      return found;
    };
    expect(await attempts('2026-10', 'UTC')).toEqual(['1 true']);
    expect(await attempts('2026-11', 'UTC')).toEqual(['2 true']);
    expect(await attempts('2026-10', 'America/Denver')).toEqual(['1 true', '2 true']);
    expect(await attempts('2026-11', 'America/Denver')).toEqual([]);
    expect(await attempts('2026-11', 'Asia/Tokyo')).toEqual(['1 true', '2 true']);
  });
});

describe('ledgerReuse', () => {
  const terms = { timeZone: 'UTC', pricePerRecord: 0.5, currency: 'USD' };
  const origins = originsOf({
    ...noRows,
    successful: 30,
    reused: { successful: 16, failed: 0 },
    duplicates: { ...noRows.duplicates, successful: 4 },
  });

  it('adds up what published runs did not pay for, without rehearsals, by the month in which they began', async () => {
    const checkpoint = createMemoryCheckpoint();
    for (const [id, createdAt] of [
      ['r1', Date.UTC(2026, 9, 31)],
      ['r2', Date.UTC(2026, 10, 1)],
    ] as const) {
      await checkpoint.recordRun(sampleRun(id, { createdAt, choice: sampleChoice }));
      await checkpoint.recordPublishing(id, { ...samplePublication, origins });
      await checkpoint.recordDone(id, createdAt);
    }
    const rehearsed = { choice: { ...sampleChoice, rehearsal: true } };
    await checkpoint.recordRun(sampleRun('r3', rehearsed));
    await checkpoint.recordPublishing('r3', { ...samplePublication, origins });
    await checkpoint.recordDone('r3', 1);
    await checkpoint.recordRun(sampleRun('r4', { choice: sampleChoice }));
    const runs = await checkpoint.runs();
    const saved = { records: 40, amount: 20, currency: 'USD' };
    expect(ledgerReuse(runs, terms)).toEqual({ reused: 32, duplicates: 8, saved });
    const november = ledgerReuse(runs, { ...terms, month: '2026-11', pricePerRecord: null });
    expect(november).toMatchObject({ reused: 16, duplicates: 4, saved: { records: 20, amount: null } });
  });
});
