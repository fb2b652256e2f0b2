/** The model's cutting: chunks of the source, then of rounds, and chunks in the place of a refused one. */
import { isDeepStrictEqual } from 'node:util';
import type { ChunkRow, NewChunk } from '../../../src/checkpoint/checkpoint.js';
import { chunkIn, chunksInOrder, type Memory, type MemoryRun, must, runIn } from './memory-state.js';

export function memoryCutChanges(memory: Memory) {
  return {
    recordCut(id: string, chunk: NewChunk, at?: number) {
      const run = runIn(memory, 'recordCut', id, 'open');
      const round = chunk.picked?.round ?? 0;
      must('recordCut', containsPicked(chunk));
      must(
        'recordCut',
        round === 0 ? run.row.chunks === null : run.row.chunks !== null && round === run.row.round + 1,
      );
      must('recordCut', chunk.firstRecord > 0);
      must(
        'recordCut',
        chunksInOrder(run, round).every(({ row }) => row.lastRecord < chunk.firstRecord),
      );
      if (run.row.chunks !== null) run.row.chunks += 1;
      return addChunk(run, chunk, round, at);
    },
    recordAllCut(id: string) {
      const run = runIn(memory, 'recordAllCut', id, 'open');
      run.row.chunks ??= chunksInOrder(run, 0).length;
    },
    recordSplit(id: string, number: number, halves: readonly [NewChunk, NewChunk]) {
      const run = runIn(memory, 'recordSplit', id, 'open');
      const { row, picked } = chunkIn(memory, 'recordSplit', id, number, 'cut', 'ambiguous');
      const [first, second] = halves;
      for (const half of halves) {
        must('recordSplit', containsPicked(half) && half.records > 0);
        must('recordSplit', (half.picked?.round ?? 0) === row.round);
      }
      const ends = [first.firstRecord, second.lastRecord, first.records + second.records];
      must('recordSplit', isDeepStrictEqual(ends, [row.firstRecord, row.lastRecord, row.records]));
      must('recordSplit', first.lastRecord < second.firstRecord);
      if (picked !== undefined) {
        const both = [...first.picked!.numbers, ...second.picked!.numbers];
        must('recordSplit', isDeepStrictEqual(both, picked));
      }
      row.state = 'split';
      if (run.row.chunks !== null) run.row.chunks += 1;
      return [addChunk(run, first, row.round), addChunk(run, second, row.round)] as const;
    },
    recordRefused(id: string, number: number, refusal: string) {
      const { row } = chunkIn(memory, 'recordRefused', id, number, 'cut', 'ambiguous');
      must('recordRefused', row.records === 1);
      return Object.assign(row, { state: 'refused', refusal, counts: { successful: 0, failed: 1 } });
    },
  };
}

function containsPicked({ picked, firstRecord, lastRecord, records }: NewChunk): boolean {
  if (picked === null) return true;
  const { numbers } = picked;
  const ascending = numbers.every((number, at) => at === 0 || number > numbers[at - 1]!);
  const edges = [numbers[0], numbers.at(-1), numbers.length];
  return ascending && isDeepStrictEqual(edges, [firstRecord, lastRecord, records]);
}

/** Adds the chunk under the next number. */
function addChunk(run: MemoryRun, { picked, ...chunk }: NewChunk, round: number, at?: number): ChunkRow {
  const number = Math.max(0, ...run.chunks.keys()) + 1;
  const unknown = {
    folio: null,
    submittedAt: null,
    counts: null,
    cause: null,
    refusal: null,
  };
  const row = { ...structuredClone(chunk), number, state: 'cut' as const, round, attempt: 0, ...unknown };
  run.chunks.set(number, {
    row,
    picked: picked === null ? undefined : [...picked.numbers],
    listed: [],
    times: { cutAt: at },
  });
  return row;
}
