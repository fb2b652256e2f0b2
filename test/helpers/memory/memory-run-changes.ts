/** The model's runs as a whole: begun, stamped anew, interrupted, given up. */
import type { NewRun } from '../../../src/checkpoint/checkpoint.js';
import type { Source } from '../../../src/types.js';
import { type Memory, must, runIn } from './memory-state.js';

export function memoryRunChanges(memory: Memory) {
  return {
    recordRun(run: NewRun) {
      must('recordRun', !memory.runs.has(run.id));
      const row = {
        ...structuredClone(run),
        state: 'open' as const,
        chunks: null,
        columns: null,
        join: null,
        round: 0,
        rehearsal: run.choice?.rehearsal === true,
        publication: null,
        partial: null,
        withheld: null,
        confirmed: null,
        finishedAt: null,
        prunedAt: null,
      };
      const nothing = {
        chunks: new Map(),
        uploads: [],
        searches: new Map(),
        payments: [],
        stretches: [],
        mixed: false,
      };
      memory.runs.set(run.id, { row, ...nothing });
    },
    recordSourceStamp(id: string, source: Source) {
      const { row } = runIn(memory, 'recordSourceStamp', id, 'open', 'publishing', 'done', 'withheld');
      must('recordSourceStamp', row.source.sha256 === source.sha256);
      row.source = structuredClone(source);
    },
    recordSuperseded(id: string, at: number) {
      const { row } = runIn(memory, 'recordSuperseded', id, 'open', 'publishing');
      Object.assign(row, { state: 'superseded', finishedAt: at });
    },
    recordInterrupted(id: string) {
      const run = memory.runs.get(id);
      let interrupted = 0;
      for (const { row } of run?.chunks.values() ?? []) {
        if (row.state !== 'uploading') continue;
        row.state = 'ambiguous';
        interrupted += 1;
      }
      for (const upload of run?.uploads ?? []) {
        if (upload.state === 'intent') Object.assign(upload, { state: 'ambiguous', doubt: 'no-reply' });
      }
      for (const search of run?.searches.values() ?? []) {
        if (search.state === 'intent') search.state = 'ambiguous';
      }
      return interrupted;
    },
  };
}
