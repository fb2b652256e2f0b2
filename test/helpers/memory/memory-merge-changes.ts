/** The model's work file: what is fixed for it, and which chunks are in it. */
import { isDeepStrictEqual } from 'node:util';
import type { ChunkCounts } from '../../../src/checkpoint/checkpoint.js';
import type { JoinMethod } from '../../../src/types.js';
import { chunkIn, chunksInOrder, type Memory, must, runIn, unmerge } from './memory-state.js';

export function memoryMergeChanges(memory: Memory) {
  return {
    recordColumns(id: string, columns: readonly string[], learned: boolean) {
      const { row, chunks } = runIn(memory, 'recordColumns', id, 'open', 'publishing', 'done');
      const nothingMerged = [...chunks.values()].every((chunk) => chunk.row.merged === null);
      const same = isDeepStrictEqual(row.columns, columns);
      must('recordColumns', same || nothingMerged);
      row.columns = [...columns];
      if (learned) memory.columns.set(JSON.stringify([row.pipeline, row.service]), [...columns]);
    },
    recordJoin(id: string, join: JoinMethod) {
      const { row } = runIn(memory, 'recordJoin', id, 'open', 'publishing', 'done');
      const way = ({ judged: _, ...rest }: JoinMethod) => rest;
      must('recordJoin', row.join === null || isDeepStrictEqual(way(row.join), way(join)));
      row.join = structuredClone(join);
    },
    recordUnjoined(id: string) {
      const run = runIn(memory, 'recordUnjoined', id, 'open', 'publishing', 'done');
      must('recordUnjoined', run.row.prunedAt === null);
      Object.assign(run.row, { join: null, columns: null });
      memory.columns.delete(JSON.stringify([run.row.pipeline, run.row.service]));
      unmerge(run, 1);
    },
    recordMerged(id: string, number: number, counts: ChunkCounts, mergedEnd: number, sha256: string) {
      const from = ['downloaded', 'unprocessed', 'refused'] as const;
      const chunk = chunkIn(memory, 'recordMerged', id, number, ...from);
      const inOrder = chunksInOrder(memory.runs.get(id), 0);
      const at = inOrder.indexOf(chunk);
      must('recordMerged', at >= 0 && chunk.row.merged === null);
      must('recordMerged', at === 0 || inOrder[at - 1]!.row.merged !== null);
      must('recordMerged', counts.successful + counts.failed + counts.unprocessed === chunk.row.records);
      Object.assign(chunk.row, { merged: { ...counts }, mergedEnd, mergedSha256: sha256 });
    },
    recordUnmerged(id: string, fromRecord: number) {
      unmerge(memory.runs.get(id), fromRecord);
    },
  };
}
