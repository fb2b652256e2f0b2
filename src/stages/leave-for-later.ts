/** A folio that the service did not know when it was asked for once: whoever waits decides whether it is lost. */
import type { ChunkRow } from '../checkpoint/checkpoint.js';
import { type FolioLostError, TroubleError } from '../errors/index.js';
import type { RunContext } from '../run-context.js';

/** The chunk stays as it is; what kept it from being had is remembered. */
export function leaveForLater(
  run: Pick<RunContext, 'id' | 'setbacks'>,
  { number, folio }: ChunkRow,
  cause: FolioLostError,
): undefined {
  run.setbacks.first ??= new TroubleError('FOLIO_NOT_FOUND', `chunk ${number}: ${cause.message}`, {
    hint: 'foliopipe collect, which waits, asks until poll.lostAfter has passed and decides whether it is lost',
    facts: { run: run.id, chunk: number, folio },
    cause,
  });
  return undefined;
}
