/** Says why a run ended without a publication, and what to do next. */
import type { Tally } from '../checkpoint/checkpoint.js';
import { TroubleError } from '../errors/index.js';

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
