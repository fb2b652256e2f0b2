import { describe, expect, it } from 'vitest';
import { ledgerReuse } from '../../src/report/ledger-totals.js';
import { originsOf } from '../../src/report/origins.js';
import { noRows } from '../../src/results/row-counts.js';
import { sampleChoice, samplePublication, sampleRun } from '../helpers/checkpoint/samples.js';
import { createMemoryCheckpoint } from '../helpers/memory/memory-checkpoint.js';

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
