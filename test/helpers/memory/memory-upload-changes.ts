/** The model's upload attempts: begun, accepted, dropped, in doubt, and found after all. */
import type {
  AcceptedReply,
  AdoptedReply,
  AttemptFileName,
  Budget,
  ChunkRow,
  Upload,
} from '../../../src/checkpoint/checkpoint.js';
import type { Doubt } from '../../../src/types.js';
import { holdToBudget } from './memory-budget.js';
import { attemptsOf, chunkIn, type Memory, type MemoryRun, must, runIn, unmerge } from './memory-state.js';

export function memoryUploadChanges(memory: Memory) {
  const endAttempt = (id: string, chunk: number, end: Partial<Upload>): void => {
    Object.assign(attemptsOf(memory.runs.get(id), chunk).at(-1)!, end);
  };

  return {
    recordIntent(
      id: string,
      number: number,
      { before, after }: AttemptFileName,
      at: number,
      budget: Budget,
    ): Upload {
      const { row } = chunkIn(memory, 'recordIntent', id, number, 'cut', 'ambiguous');
      const run = memory.runs.get(id)!;
      holdToBudget(memory, run, row.records, budget);
      Object.assign(row, { state: 'uploading', attempt: row.attempt + 1 });
      const upload = {
        run: id,
        chunk: number,
        attempt: row.attempt,
        fileName: `${before}${row.attempt}${after}`,
        records: row.records,
        state: 'intent' as const,
        doubt: null,
        folio: null,
        local: null,
        serviceRecords: null,
        startedAt: at,
        endedAt: null,
      };
      run.uploads.push(upload);
      run.payments.push({ day: budget.day, records: row.records, paidFor: upload });
      return upload;
    },
    recordAccepted(id: string, number: number, reply: AcceptedReply, at: number) {
      const { folio, serviceRecords, rehearsal: local } = reply;
      const { row } = chunkIn(memory, 'recordAccepted', id, number, 'uploading');
      Object.assign(row, { state: 'submitted', folio, submittedAt: at });
      endAttempt(id, number, { state: 'accepted', folio, local, serviceRecords, endedAt: at });
      if (reply.rehearsal) memory.runs.get(id)!.row.rehearsal = true;
      return row;
    },
    recordDropped(id: string, number: number, at: number) {
      const { row } = chunkIn(memory, 'recordDropped', id, number, 'uploading');
      const inDoubt = attemptsOf(memory.runs.get(id), number).some(({ state }) => state === 'ambiguous');
      row.state = inDoubt ? 'ambiguous' : 'cut';
      endAttempt(id, number, { state: 'dropped', endedAt: at });
    },
    recordAmbiguous(id: string, number: number, at: number, doubt: Doubt) {
      chunkIn(memory, 'recordAmbiguous', id, number, 'uploading').row.state = 'ambiguous';
      endAttempt(id, number, { state: 'ambiguous', doubt, endedAt: at });
    },
    recordMixed(id: string) {
      must('recordMixed', memory.runs.has(id));
      const run = memory.runs.get(id)!;
      run.mixed = true;
      run.row.rehearsal = true;
    },
    recordAdopted(id: string, number: number, reply: AdoptedReply, at: number) {
      const run = runIn(memory, 'recordAdopted', id, 'open', 'done', 'withheld');
      const chunk = chunkIn(memory, 'recordAdopted', id, number, 'ambiguous', 'unprocessed');
      const { row } = chunk;
      const { folio, serviceRecords, rehearsal: local } = reply;
      const attempts = attemptsOf(run, number);
      const upload =
        attempts.findLast((attempt) => attempt.folio === folio) ??
        attempts.findLast(({ state, attempt }) => state === 'ambiguous' && attempt === reply.attempt) ??
        attempts.findLast(({ state }) => state === 'ambiguous') ??
        attempts.findLast(({ state }) => state === 'accepted');
      must('recordAdopted', row.state === 'ambiguous' || row.cause !== 'DEADLINE');
      must('recordAdopted', upload !== undefined);
      if (row.folio !== folio || row.cause === 'FOLIO_ABANDONED') chunk.listed = [];
      Object.assign(row, { state: 'submitted', folio, submittedAt: at, cause: null, counts: null });
      Object.assign(upload, { state: 'accepted', doubt: null, folio, local, serviceRecords, endedAt: at });
      takeBack(run, row);
      if (reply.rehearsal) run.row.rehearsal = true;
    },
    recordFound(id: string, number: number) {
      const run = runIn(memory, 'recordFound', id, 'open', 'done', 'withheld');
      const { row } = chunkIn(memory, 'recordFound', id, number, 'unprocessed');
      must('recordFound', row.cause === 'FOLIO_LOST' && row.folio !== null && run.row.prunedAt === null);
      Object.assign(row, { state: 'submitted', cause: null, counts: null });
      takeBack(run, row);
    },
  };
}

/** What was written without the chunk's answer is written again. */
function takeBack(run: MemoryRun, { round, firstRecord }: ChunkRow): void {
  unmerge(run, round === 0 && (run.row.columns ?? []).length > 0 ? firstRecord : 1);
  if (round > 0) run.row.round = Math.min(run.row.round, round - 1);
  if (run.row.state === 'done' || run.row.state === 'withheld') {
    Object.assign(run.row, {
      state: 'open',
      publication: null,
      withheld: null,
      confirmed: null,
      finishedAt: null,
    });
  }
}
