/** The model's results of a chunk: listed, stored, complete, or given up. */
import type { FolioCounts, PartReference, StoredPart, UnprocessedCause } from '../../src/types.js';
import { chunkIn, type Memory, must } from './memory-state.js';

export function memoryResultChanges(memory: Memory) {
  return {
    recordFinished(id: string, number: number, counts: FolioCounts, parts: readonly PartReference[]) {
      const from = ['submitted', 'finished', 'downloaded'] as const;
      const chunk = chunkIn(memory, 'recordFinished', id, number, ...from);
      const names = new Set(parts.map(({ fileStatus, part }) => `${fileStatus} ${part}`));
      must('recordFinished', chunk.row.merged === null && names.size === parts.length);
      Object.assign(chunk.row, { state: 'finished', counts: { ...counts } });
      chunk.listed = parts.map(({ fileStatus, part }) => ({ fileStatus, part, stored: undefined }));
      return chunk.row;
    },
    recordPart(id: string, number: number, part: StoredPart) {
      const { listed } = chunkIn(memory, 'recordPart', id, number, 'finished', 'downloaded');
      const place = listed.find((each) => each.fileStatus === part.fileStatus && each.part === part.part);
      must('recordPart', place !== undefined);
      place.stored = { ...part };
    },
    recordDownloaded(id: string, number: number) {
      const { row, listed } = chunkIn(memory, 'recordDownloaded', id, number, 'finished', 'downloaded');
      must(
        'recordDownloaded',
        listed.every((part) => part.stored !== undefined),
      );
      row.state = 'downloaded';
      return row;
    },
    recordUnprocessed(id: string, number: number, cause: UnprocessedCause) {
      const from = ['cut', 'ambiguous', 'submitted', 'finished', 'downloaded'] as const;
      const { row } = chunkIn(memory, 'recordUnprocessed', id, number, ...from);
      must('recordUnprocessed', row.merged === null);
      return Object.assign(row, { state: 'unprocessed', cause });
    },
  };
}
