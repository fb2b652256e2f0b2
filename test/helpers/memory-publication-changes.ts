/** The model's end of a run: an output in its place, whole or partial, and the results forgotten. */
import type { Publication } from '../../src/checkpoint/checkpoint.js';
import { type Memory, must, runIn, unmerge } from './memory-state.js';

const REOPENED = { state: 'open', publication: null, finishedAt: null };

export function memoryPublicationChanges(memory: Memory) {
  return {
    recordPublishing(id: string, publication: Publication) {
      const { row } = runIn(memory, 'recordPublishing', id, 'open', 'publishing', 'done');
      must('recordPublishing', row.prunedAt === null);
      Object.assign(row, { state: 'publishing', publication: structuredClone(publication) });
    },
    recordDone(id: string, at: number) {
      const { row } = runIn(memory, 'recordDone', id, 'publishing');
      Object.assign(row, row.publication!.partial ? REOPENED : { state: 'done', finishedAt: at });
    },
    recordUnpublished(id: string) {
      const run = runIn(memory, 'recordUnpublished', id, 'publishing');
      if (!run.row.publication!.partial) unmerge(run, 1);
      Object.assign(run.row, REOPENED);
    },
    recordReopened(id: string) {
      const { row } = runIn(memory, 'recordReopened', id, 'done');
      must('recordReopened', row.prunedAt === null);
      Object.assign(row, REOPENED);
    },
    recordPruned(id: string, at: number) {
      const run = runIn(memory, 'recordPruned', id, 'done', 'superseded');
      must('recordPruned', run.row.prunedAt === null);
      run.row.prunedAt = at;
      run.chunks.clear();
      for (const search of run.searches.values()) Object.assign(search, { values: null });
    },
  };
}
