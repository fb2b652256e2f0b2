/** The model's upload attempts: begun, accepted, dropped, in doubt, and found after all. */
import type { AcceptedReply, Budget, Upload } from '../../src/checkpoint/checkpoint.js';
import type { Doubt } from '../../src/types.js';
import { holdToBudget } from './memory-budget.js';
import { attemptsOf, chunkIn, type Memory, must, runIn, unmerge } from './memory-state.js';

export function memoryUploadChanges(memory: Memory) {
  const endAttempt = (id: string, chunk: number, end: Partial<Upload>): void => {
    Object.assign(attemptsOf(memory.runs.get(id), chunk).at(-1)!, end);
  };

  return {
    recordIntent(
      id: string,
      number: number,
      fileName: (attempt: number) => string,
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
        fileName: fileName(row.attempt),
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
    recordAdopted(id: string, number: number, reply: AcceptedReply, at: number) {
      const run = runIn(memory, 'recordAdopted', id, 'open', 'done');
      const { row } = chunkIn(memory, 'recordAdopted', id, number, 'ambiguous', 'unprocessed');
      const upload = attemptsOf(run, number).findLast(({ state }) => state === 'ambiguous');
      const adoptable = row.state === 'ambiguous' || row.cause === 'AMBIGUOUS_HELD';
      must('recordAdopted', adoptable && upload !== undefined);
      const { folio, serviceRecords, rehearsal: local } = reply;
      Object.assign(row, { state: 'submitted', folio, submittedAt: at, cause: null });
      Object.assign(upload, { state: 'accepted', doubt: null, folio, local, serviceRecords, endedAt: at });
      if (row.round === 0) {
        unmerge(run, (run.row.columns ?? []).length > 0 ? row.firstRecord : 1);
      } else {
        unmerge(run, 1);
        run.row.round = Math.min(run.row.round, row.round - 1);
      }
      if (run.row.state === 'done') {
        Object.assign(run.row, { state: 'open', publication: null, finishedAt: null });
      }
      if (reply.rehearsal) run.row.rehearsal = true;
    },
  };
}
