/** The model's work file: what is fixed for it, and which stretches are in it. And the segments of answers. */
import { isDeepStrictEqual } from 'node:util';
import type { Stretch } from '../../../src/checkpoint/checkpoint.js';
import { isAnswered } from '../../../src/checkpoint/walk-run.js';
import type { JoinMethod, Segment } from '../../../src/types.js';
import { chunksInOrder, type Memory, must, runIn, unmerge } from './memory-state.js';

export function memoryMergeChanges(memory: Memory) {
  return {
    recordColumns(id: string, columns: readonly string[], learned: boolean) {
      const { row, stretches } = runIn(memory, 'recordColumns', id, 'open', 'publishing', 'done', 'withheld');
      const nothingMerged = stretches.length === 0;
      const same = isDeepStrictEqual(row.columns, columns);
      must('recordColumns', same || nothingMerged);
      row.columns = [...columns];
      if (learned) memory.columns.set(JSON.stringify([row.pipeline, row.service]), [...columns]);
    },
    recordColumnsAdded(id: string, columns: readonly string[]) {
      const run = runIn(memory, 'recordColumnsAdded', id, 'open', 'publishing', 'done', 'withheld');
      const { row } = run;
      const before = row.columns ?? [];
      must(
        'recordColumnsAdded',
        row.prunedAt === null && before.length > 0 && columns.length > before.length,
      );
      must('recordColumnsAdded', isDeepStrictEqual(columns.slice(0, before.length), before));
      row.columns = [...columns];
      memory.columns.set(JSON.stringify([row.pipeline, row.service]), [...columns]);
      unmerge(run, 1);
    },
    recordJoin(id: string, join: JoinMethod) {
      const { row } = runIn(memory, 'recordJoin', id, 'open', 'publishing', 'done', 'withheld');
      const way = ({ judged: _, ...rest }: JoinMethod) => rest;
      must('recordJoin', row.join === null || isDeepStrictEqual(way(row.join), way(join)));
      row.join = structuredClone(join);
    },
    recordUnjoined(id: string) {
      const run = runIn(memory, 'recordUnjoined', id, 'open', 'publishing', 'done', 'withheld');
      must('recordUnjoined', run.row.prunedAt === null);
      Object.assign(run.row, { join: null, columns: null });
      memory.columns.delete(JSON.stringify([run.row.pipeline, run.row.service]));
      unmerge(run, 1);
    },
    recordMerged(id: string, stretch: Stretch, at?: number) {
      const run = memory.runs.get(id);
      const { firstRecord, lastRecord, records, counts } = stretch;
      const last = run?.stretches.at(-1)?.lastRecord ?? 0;
      must('recordMerged', run !== undefined && last < firstRecord && firstRecord <= lastRecord);
      must('recordMerged', counts.successful + counts.failed + counts.unprocessed === records);
      for (const { row } of chunksInOrder(run, 0)) {
        must('recordMerged', !(row.firstRecord > last && row.firstRecord < firstRecord));
        const isInside = row.firstRecord <= lastRecord && row.lastRecord >= firstRecord;
        must('recordMerged', !isInside || isAnswered(row));
      }
      run.stretches.push({ ...structuredClone(stretch), mergedAt: at });
    },
    recordSegment(segment: Segment, replaced?: string) {
      if (replaced !== undefined && !memory.segments.some(({ id }) => id === replaced)) return false;
      memory.segments = [...memory.segments.filter(({ run }) => run !== segment.run), segment];
      return true;
    },
    recordSegmentsForgotten(ids: readonly string[]) {
      memory.segments = memory.segments.filter(({ id }) => !ids.includes(id));
    },
    recordUnmerged(id: string, fromRecord: number) {
      unmerge(memory.runs.get(id), fromRecord);
    },
  };
}
