/** The model's results of a chunk: listed, stored, complete, or given up. */
import type { FolioCounts, PartReference, StoredPart, UnprocessedCause } from '../../../src/types.js';
import { chunkIn, type Memory, must, unmerge } from './memory-state.js';

export function memoryResultChanges(memory: Memory) {
  return {
    recordFinished(
      id: string,
      number: number,
      counts: FolioCounts,
      parts: readonly PartReference[],
      at?: number,
    ) {
      const chunk = chunkIn(memory, 'recordFinished', id, number, 'submitted');
      must('recordFinished', areDistinct(parts));
      Object.assign(chunk.row, { state: 'finished', counts: { ...counts } });
      chunk.times.finishedAt = at;
      const before = chunk.listed;
      chunk.listed = parts.map(({ fileStatus, part }) => {
        const same = before.find((each) => each.fileStatus === fileStatus && each.part === part);
        return { fileStatus, part, stored: same?.stored };
      });
      return chunk.row;
    },
    recordParts(id: string, number: number, parts: readonly StoredPart[]) {
      const { listed } = chunkIn(memory, 'recordParts', id, number, 'finished');
      const placeOf = ({ fileStatus, part }: PartReference) =>
        listed.find((each) => each.fileStatus === fileStatus && each.part === part);
      must(
        'recordParts',
        parts.every((part) => placeOf(part) !== undefined),
      );
      for (const part of parts) placeOf(part)!.stored = { ...part };
    },
    recordDownloaded(id: string, number: number, at?: number) {
      const { row, listed, times } = chunkIn(
        memory,
        'recordDownloaded',
        id,
        number,
        'finished',
        'downloaded',
      );
      must(
        'recordDownloaded',
        listed.every((part) => part.stored !== undefined),
      );
      row.state = 'downloaded';
      times.downloadedAt = at;
      return row;
    },
    recordRefetched(id: string, number: number, counts: FolioCounts, parts: readonly StoredPart[]) {
      const chunk = chunkIn(memory, 'recordRefetched', id, number, 'finished', 'downloaded');
      must('recordRefetched', areDistinct(parts));
      Object.assign(chunk.row, { state: 'downloaded', counts: { ...counts } });
      chunk.listed = parts.map((stored) => ({
        fileStatus: stored.fileStatus,
        part: stored.part,
        stored: { ...stored },
      }));
      if (chunk.row.round === 0) unmerge(memory.runs.get(id), chunk.row.firstRecord);
      return chunk.row;
    },
    recordUnprocessed(id: string, number: number, cause: UnprocessedCause) {
      const from = ['cut', 'ambiguous', 'submitted', 'finished', 'downloaded'] as const;
      const { row } = chunkIn(memory, 'recordUnprocessed', id, number, ...from);
      const { stretches } = memory.runs.get(id)!;
      const isMerged = stretches.some(
        ({ firstRecord, lastRecord }) => firstRecord <= row.lastRecord && lastRecord >= row.firstRecord,
      );
      must('recordUnprocessed', row.round > 0 || !isMerged);
      return Object.assign(row, { state: 'unprocessed', cause });
    },
  };
}

function areDistinct(parts: readonly PartReference[]): boolean {
  return new Set(parts.map(({ fileStatus, part }) => `${fileStatus} ${part}`)).size === parts.length;
}
