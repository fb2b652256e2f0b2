/** The model's second chances of failed records: rounds that are closed, and searches, of a run and of none. */
import type { Budget, Checkpoint, NewSingleSearch, Search } from '../../../src/checkpoint/checkpoint.js';
import { holdPipelineToBudget, holdToBudget } from './memory-budget.js';
import { chunksInOrder, type Memory, must, runIn, unmerge } from './memory-state.js';

type SearchEnd =
  | { readonly state: 'answered'; readonly values: Readonly<Record<string, string>> | null }
  | { readonly state: 'dropped' | 'ambiguous' };

export function memoryRoundChanges(memory: Memory) {
  return {
    recordRoundClosed(id: string, round: number) {
      const run = runIn(memory, 'recordRoundClosed', id, 'open');
      const isOver = chunksInOrder(run, round).every(({ row }) =>
        ['downloaded', 'unprocessed', 'refused'].includes(row.state),
      );
      must('recordRoundClosed', round === run.row.round + 1 && isOver);
      run.row.round = round;
      unmerge(run, 1);
    },
    recordSearchIntent(id: string, record: number, at: number, budget: Budget) {
      const run = runIn(memory, 'recordSearchIntent', id, 'open');
      const before = run.searches.get(record);
      must('recordSearchIntent', before === undefined || before.state === 'dropped');
      holdToBudget(memory, run, 1, budget);
      const search: Search = { record, state: 'intent', values: null, startedAt: at };
      run.searches.set(record, search);
      run.payments.push({ day: budget.day, records: 1, paidFor: search });
    },
    recordSearchEnd(id: string, record: number, end: SearchEnd) {
      const search = memory.runs.get(id)?.searches.get(record);
      const isOpen = memory.runs.get(id)?.row.state === 'open';
      must('recordSearchEnd', isOpen && search?.state === 'intent');
      const values = end.state === 'answered' ? structuredClone(end.values) : null;
      Object.assign(search!, { state: end.state, values });
    },
    recordSingleSearchIntent(search: NewSingleSearch, budget: Budget) {
      must('recordSingleSearchIntent', !memory.singles.has(search.id));
      holdPipelineToBudget(memory, search.pipeline, null, 1, budget);
      memory.singles.set(search.id, { ...search, state: 'intent', local: null, day: budget.day });
    },
    recordSingleSearchEnd(id: string, end: Parameters<Checkpoint['recordSingleSearchEnd']>[1]) {
      const search = memory.singles.get(id);
      must('recordSingleSearchEnd', search?.state === 'intent');
      Object.assign(search!, { state: end.state, local: end.state === 'answered' ? end.local : null });
    },
  };
}
