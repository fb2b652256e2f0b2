/** Says why a run ended without a publication, and what to do next. */
import type { Checkpoint, Tally } from '../checkpoint/checkpoint.js';
import { TroubleError } from '../errors/index.js';
import type { RunContext } from '../run-context.js';

/** @throws TroubleError when a chunk has no folio: after an outage, or because nobody knows whether it has. */
export async function checkAllSubmitted(
  run: Pick<RunContext, 'id' | 'setbacks'> & { readonly checkpoint: Pick<Checkpoint, 'run' | 'tally'> },
): Promise<void> {
  const tally = await run.checkpoint.tally(run.id);
  const row = await run.checkpoint.run(run.id);
  const { cut, uploading, ambiguous } = tally.chunks;
  if (cut + uploading + ambiguous === 0 && row?.chunks != null) return;
  throw run.setbacks.first ?? incompleteError(run.id, row?.chunks ?? null, tally);
}

export function incompleteError(run: string, chunks: number | null, tally: Tally): TroubleError {
  const { submitted, ambiguous, cut, uploading } = tally.chunks;
  const facts = { run, chunks, merged: tally.merged.chunks };
  if (ambiguous > 0) {
    return new TroubleError(
      'CHUNKS_AMBIGUOUS',
      `run ${run}: nobody knows whether the service accepted ${ambiguous} chunks`,
      {
        hint: 'foliopipe run sends them once more, or gives them up, as ambiguous.policy says',
        facts: { ...facts, ambiguous },
      },
    );
  }
  if (submitted > 0) {
    return new TroubleError(
      'FOLIOS_TIMED_OUT',
      `run ${run}: ${submitted} folios were not finished within poll.timeout`,
      {
        hint: 'run the same command again to wait for them; nothing is paid again',
        facts: { ...facts, submitted },
      },
    );
  }
  return new TroubleError(
    'CHUNKS_MISSING',
    `run ${run}: ${cut + uploading} chunks are not submitted${chunks === null ? ', and the source is not cut to its end' : ''}`,
    { hint: 'foliopipe run submits the rest and goes on', facts },
  );
}
