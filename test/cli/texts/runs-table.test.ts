/** The table of runs: header, start, duration, failed records and cost, in columns that fit 80 characters. */
import { expect, it } from 'vitest';
import { runsTable } from '../../../src/cli/texts/runs-table.js';
import { samplePublication, sampleRun } from '../../helpers/checkpoint/samples.js';
import { createMemoryCheckpoint } from '../../helpers/memory/memory-checkpoint.js';

const options = { timeZone: 'UTC', pricePerRecord: 0.01, hasPipelines: false };

async function storedRun() {
  const checkpoint = createMemoryCheckpoint();
  await checkpoint.recordRun(sampleRun('R'));
  return (await checkpoint.runs())[0]!;
}

it('shows how a run ended and what it cost, below a header', async () => {
  const open = {
    ...(await storedRun()),
    id: '20261122T031002-4f9c12',
    createdAt: Date.UTC(2026, 10, 22, 3, 10, 2),
  };
  const counts = { read: 60_000, successful: 59_800, failed: 120, unprocessed: 80, rejected: 0 };
  const source = { ...open.source, records: 60_000, rejected: 0 };
  const publication = { ...samplePublication, number: 1, exitCode: 3, counts };
  const done = {
    ...open,
    source,
    state: 'done' as const,
    publication,
    finishedAt: open.createdAt + 22 * 60_000,
  };
  const listed = [
    { run: { ...open, source }, paid: 10_000, isLoadFailed: false },
    { run: { ...open, source, partial: { ...publication, exitCode: 8 } }, paid: 59_920, isLoadFailed: false },
    { run: done, paid: 60_000, isLoadFailed: true },
    { run: { ...done, rehearsal: true, pipeline: 'weekly' }, paid: 60_000, isLoadFailed: false },
  ];
  expect(runsTable(listed, options).split('\n')).toEqual([
    'run                     start             took  records  failed    cost  end',
    '20261122T031002-4f9c12  2026-11-22 03:10     -   60,000       -  100.00  open',
    '20261122T031002-4f9c12  2026-11-22 03:10     -   60,000       -  599.20  open  partial publication 1, exit 8  80 unprocessed',
    '20261122T031002-4f9c12  2026-11-22 03:10   22m   60,000     120  600.00  exit 3  80 unprocessed  load failed',
    '20261122T031002-4f9c12  2026-11-22 03:10   22m   60,000     120       -  exit 3  80 unprocessed  rehearsal',
    '',
  ]);
  const all = runsTable(listed, { ...options, hasPipelines: true, pricePerRecord: null });
  expect(all).toMatch(/^run +start +took +records +failed +paid +end\n/);
  expect(all).toMatch(/ 60,000 {5}120 {2}60,000 {2}exit 3 .* load failed {2}nightly\n/);
  expect(runsTable([], options)).toBe('');
});

it('rounds a cost as summary and ledger do', async () => {
  const run = await storedRun();
  // 35 times 0.005 is 0.17500000000000002 in binary fractions, and 0.18 where that is rounded.
  const table = runsTable([{ run, paid: 35, isLoadFailed: false }], { ...options, pricePerRecord: 0.005 });
  expect(table).toMatch(/ 0\.17 {2}open\n$/);
});
