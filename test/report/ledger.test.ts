import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Upload } from '../../src/checkpoint/checkpoint.js';
import {
  type LedgerEntry,
  type LedgerSum,
  ledgerEntries,
  readLedger,
  readLedgerPages,
  readLedgerSums,
} from '../../src/report/ledger.js';
import { addEntries, emptyTotals } from '../../src/report/ledger-totals.js';
import { addChunk, beginUpload, sampleReply } from '../helpers/checkpoint/advance-chunk.js';
import { sampleRun } from '../helpers/checkpoint/samples.js';
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
const totalsOf = (entries: readonly (LedgerEntry | LedgerSum)[], price: number | null) =>
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
      ambiguous: 20,
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
      ambiguous: 0,
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

describe('the ledger with sums', () => {
  const read = async (pages: AsyncIterable<readonly (LedgerEntry | LedgerSum)[]>) => {
    const lines: (LedgerEntry | LedgerSum)[] = [];
    for await (const page of pages) lines.push(...page);
    return lines;
  };

  it('has a line for plain uploads where there are many, and one for each upload that has more to tell', async () => {
    const checkpoint = createMemoryCheckpoint();
    await checkpoint.recordRun(sampleRun('r1', { createdAt: 1_000 }));
    await checkpoint.recordRun(sampleRun('r2', { createdAt: 2_000 }));
    for (let chunk = 1; chunk <= 5; chunk++) await addChunk(checkpoint, 'r1', chunk, 'submitted');
    for (let chunk = 1; chunk <= 2; chunk++) await addChunk(checkpoint, 'r2', chunk, 'submitted');
    await addChunk(checkpoint, 'r1', 6, 'ambiguous');
    await addChunk(checkpoint, 'r1', 7, 'cut');
    await beginUpload(checkpoint, 'r1', 7);
    await checkpoint.recordAccepted('r1', 7, { ...sampleReply(7), serviceRecords: 9 }, 9);
    const terms = { timeZone: 'UTC', pricePerRecord: 0.5 };
    const lines = await read(readLedgerSums(checkpoint, undefined, terms, 2));
    expect(lines).toMatchObject([
      { run: 'r1', kind: 'uploads', uploads: 5, records: 50, price: 25, rehearsal: false, sample: false },
      { run: 'r1', kind: 'upload', chunk: 6, state: 'ambiguous' },
      { run: 'r1', kind: 'upload', chunk: 7, serviceRecords: 9 },
      { run: 'r2', kind: 'upload', chunk: 1 },
      { run: 'r2', kind: 'upload', chunk: 2 },
    ]);
    expect(totalsOf(lines, 0.5)).toMatchObject({ uploads: 9, records: 90, possiblyTwice: 10, amount: 45 });
  });

  const attempt = fc.record({
    end: fc.constantFrom('plain', 'miscounted', 'uncounted', 'ambiguous', 'dropped'),
    local: fc.boolean(),
    // Two days around the end of a month, in every time zone.
    at: fc.integer({ min: Date.UTC(2026, 9, 31), max: Date.UTC(2026, 10, 2) }),
  });
  const runs = fc.array(fc.array(fc.array(attempt, { maxLength: 3 }), { maxLength: 6 }), { maxLength: 3 });

  it('adds up to what all its entries add up to, in each month', async () => {
    await fc.assert(
      fc.asyncProperty(runs, fc.integer({ min: 0, max: 4 }), async (histories, listed) => {
        const checkpoint = createMemoryCheckpoint();
        for (const [at, chunks] of histories.entries()) {
          const run = `r${at}`;
          await checkpoint.recordRun(sampleRun(run));
          for (const [index, attempts] of chunks.entries()) {
            const chunk = index + 1;
            await addChunk(checkpoint, run, chunk, 'cut');
            for (const { end, local, at } of attempts) {
              const { state } = (await checkpoint.chunk(run, chunk))!;
              if (state === 'submitted') break;
              const { records } = await beginUpload(checkpoint, run, chunk, at);
              const serviceRecords = { plain: records, miscounted: records - 1 }[end as string] ?? null;
              if (end === 'ambiguous') await checkpoint.recordAmbiguous(run, chunk, at, 'no-reply');
              else if (end === 'dropped') await checkpoint.recordDropped(run, chunk, at);
              else {
                const reply = { folio: `F${run}-${chunk}`, serviceRecords, rehearsal: local };
                await checkpoint.recordAccepted(run, chunk, reply, at);
              }
            }
          }
        }
        for (const month of [undefined, '2026-10', '2026-11']) {
          for (const timeZone of ['UTC', 'America/Denver', 'Asia/Tokyo']) {
            const terms = { timeZone, pricePerRecord: 0.1, ...(month !== undefined && { month }) };
            const entries = await read(readLedgerPages(checkpoint, undefined, terms));
            const lines = await read(readLedgerSums(checkpoint, undefined, terms, listed));
            expect(totalsOf(lines, 0.1)).toEqual(totalsOf(entries, 0.1));
          }
        }
      }),
      { numRuns: 60 },
    );
  });
});
