/** Reads the state of a process that has ended: uploads that it did not finish are ambiguous. */
import type { CheckpointReader, ChunkRow, ChunkState, Tally, Upload } from './checkpoint.js';
import { eachChunk } from './walk-run.js';

/**
 * Shows the uploads of a dead process as the next run records them (`recordInterrupted`). Changes nothing. Searches
 * that were cut off are shown unchanged.
 */
export function withCutOffUploads(checkpoint: CheckpointReader): CheckpointReader {
  return {
    ...checkpoint,
    chunksIn: async (run, states, after, limit) => {
      const kept = states.filter((state) => state !== 'uploading');
      const asked: ChunkState[] = kept.includes('ambiguous') ? [...kept, 'uploading'] : kept;
      return (await checkpoint.chunksIn(run, asked, after, limit)).map(withoutUpload);
    },
    attempts: async (run, chunk) => (await checkpoint.attempts(run, chunk)).map(withoutIntent),
    tally: async (run) => {
      const tally = await checkpoint.tally(run);
      if (tally.chunks.uploading === 0) return tally;
      let again = 0;
      for await (const { number } of eachChunk(checkpoint, run, ['uploading'])) {
        const attempts = await checkpoint.attempts(run, number);
        if (attempts.some(({ state }) => state === 'ambiguous' || state === 'accepted')) again += 1;
      }
      return withDoubt(tally, again);
    },
  };
}

function withoutUpload(row: ChunkRow): ChunkRow {
  return row.state === 'uploading' ? { ...row, state: 'ambiguous' } : row;
}

function withoutIntent(upload: Upload): Upload {
  return upload.state === 'intent' ? { ...upload, state: 'ambiguous', doubt: 'no-reply' } : upload;
}

/** @param again how many of the uploads that were cut off follow an ambiguous or accepted one of the same chunk. */
function withDoubt(tally: Tally, again: number): Tally {
  const { chunks, records, uploads, ambiguousRecords } = tally;
  const move = (counts: Tally['chunks']) => ({
    ...counts,
    uploading: 0,
    ambiguous: counts.ambiguous + counts.uploading,
  });
  return {
    ...tally,
    chunks: move(chunks),
    records: move(records),
    uploads: {
      ...uploads,
      ambiguous: uploads.ambiguous + chunks.uploading,
      resubmitted: uploads.resubmitted + again,
    },
    ambiguousRecords: ambiguousRecords + records.uploading,
  };
}
