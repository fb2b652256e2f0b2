/** A retry that the budget does not allow is refused or warned of before the run is opened again. */
import { expect, it } from 'vitest';
import { silentLogger } from '../../../src/logger.js';
import type { BudgetLeft } from '../../../src/run/check/check-new-run.js';
import { checkRetryBudget, type RetryPlan, retryPlanText } from '../../../src/run/plan/plan-retry.js';

const plan: RetryPlan = {
  ...{ run: 'R7', pipeline: 'nightly', by: 'upload', records: 12, reused: 0, held: 0 },
  ...{ amount: null, currency: 'USD', rehearsal: false, budget: [] },
};

/** What is warned of. */
function check(cap: BudgetLeft['cap'], left: number): string {
  const warned: string[] = [];
  const logger = { ...silentLogger, warn: (_: object, text: string) => void warned.push(text) };
  checkRetryBudget({ ...plan, budget: [{ cap, limit: 40, spent: 40 - left, left }] }, logger);
  return warned.join('\n');
}

it.each(['perRun', 'perDay', 'perMonth'] as const)('%s allows what it leaves, to the record', (cap) => {
  expect(check(cap, 12)).toBe('');
});

it.each([
  ['perRun', 11, 'raise budget.perRun, then type'],
  ['perDay', 0, 'raise budget.perDay, or wait for the next day (budget.timeZone), then'],
  ['perMonth', 0, 'raise budget.perMonth, or wait for the next month (budget.timeZone), then'],
] as const)('%s that leaves %i records of 12 refuses it', (cap, left, hint) => {
  const facts = { run: 'R7', cap, limit: 40, spent: 40 - left, left, records: 12 };
  const code = 'BUDGET_TOO_SMALL';
  expect(() => check(cap, left)).toThrow(
    expect.objectContaining({ code, exitCode: 9, facts, hint: expect.stringContaining(hint) }),
  );
});

it.each(['perDay', 'perMonth'] as const)('%s that leaves some lets it begin, and says so', (cap) => {
  expect(check(cap, 11)).toContain(`budget.${cap} leaves 11 of the 12 records to send: the retry sends`);
});

it('tells what it costs', () => {
  expect(retryPlanText(plan)).toBe('sends 12 failed records once more, each is paid for again');
  expect(retryPlanText({ ...plan, amount: 1.2 })).toBe(
    'sends 12 failed records once more, which costs 1.20 USD',
  );
  expect(retryPlanText({ ...plan, by: 'search', records: 1, amount: 0, rehearsal: true })).toBe(
    'searches at most 1 failed record one by one, a rehearsal costs nothing',
  );
});
