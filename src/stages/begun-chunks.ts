/** The chunks that were cut before, by this process or an earlier one, and still need the service. */
import type { Checkpoint, ChunkRow } from '../checkpoint/checkpoint.js';
import { eachChunk } from '../checkpoint/each-chunk.js';
import type { RunContext } from '../run-context.js';

/**
 * Of the source and of all rounds, those with an open folio first. Ends early once uploads are stopped.
 */
export async function* begunChunks(
  run: Pick<RunContext, 'id' | 'uploads'> & { readonly checkpoint: Pick<Checkpoint, 'chunksIn'> },
): AsyncGenerator<ChunkRow> {
  yield* eachChunk(run.checkpoint, run.id, ['submitted', 'finished']);
  for await (const chunk of eachChunk(run.checkpoint, run.id, ['cut'])) {
    if (run.uploads.stopped) return;
    yield chunk;
  }
}
