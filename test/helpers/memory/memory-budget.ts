/** The model's budget: sums over all payments that were not given back, however many there are. */
import type { Budget, Spending, SpentOnDay } from '../../../src/checkpoint/checkpoint.js';
import { GuardError } from '../../../src/errors.js';
import type { Memory, MemoryRun, Payment } from './memory-state.js';

const monthOf = (day: string) => day.slice(0, 7);

/** Of a run, where there is one, and of a pipeline. */
export function spendingOf(memory: Memory, pipeline: string, run: string | null, day: string): Spending {
  const sum = (payments: readonly Payment[], counts: (payment: Payment) => boolean) =>
    payments
      .filter((payment) => payment.paidFor.state !== 'dropped' && counts(payment))
      .reduce((total, { records }) => total + records, 0);
  const ofPipeline = [
    ...[...memory.runs.values()]
      .filter(({ row }) => row.pipeline === pipeline)
      .flatMap(({ payments }) => payments),
    ...[...memory.singles.values()]
      .filter((search) => search.pipeline === pipeline)
      .map((search) => ({ day: search.day, records: 1, paidFor: search })),
  ];
  const ofRun = run === null ? undefined : memory.runs.get(run);
  return {
    run: sum(ofRun?.payments ?? [], () => true),
    day: sum(ofPipeline, (payment) => payment.day === day),
    month: sum(ofPipeline, (payment) => monthOf(payment.day) === monthOf(day)),
  };
}

/** What was paid for on each day, without what a local service has answered. */
export function spentByDay(memory: Memory, pipeline: string, from: string): SpentOnDay[] {
  const paid = [
    ...[...memory.runs.values()]
      .filter(({ row }) => row.pipeline === pipeline && !row.rehearsal)
      .flatMap(({ payments }) => payments),
    ...[...memory.singles.values()]
      .filter((search) => search.pipeline === pipeline && search.local !== true)
      .map((search) => ({ day: search.day, records: 1, paidFor: search })),
  ].filter(({ day, paidFor }) => day >= from && paidFor.state !== 'dropped');
  const days = [...new Set(paid.map(({ day }) => day))].sort();
  return days.map((day) => {
    const records = paid.filter((one) => one.day === day).reduce((sum, one) => sum + one.records, 0);
    return { day, records };
  });
}

/** @throws GuardError `BUDGET_REACHED` when the records would pass a cap. */
export function holdToBudget(memory: Memory, { row }: MemoryRun, records: number, budget: Budget): void {
  holdPipelineToBudget(memory, row.pipeline, row.id, records, budget);
}

/** @param run null for what belongs to no run: it has no cap of its own. */
export function holdPipelineToBudget(
  memory: Memory,
  pipeline: string,
  run: string | null,
  records: number,
  budget: Budget,
): void {
  const spent = spendingOf(memory, pipeline, run, budget.day);
  const caps = [
    ['perRun', spent.run, run === null ? null : budget.perRun],
    ['perDay', spent.day, budget.perDay],
    ['perMonth', spent.month, budget.perMonth],
  ] as const;
  for (const [name, before, cap] of caps) {
    if (cap === null || before + records <= cap) continue;
    throw new GuardError('BUDGET_REACHED', `${name} is passed`, { facts: { cap: name } });
  }
}
