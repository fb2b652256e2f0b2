/**
 * The errors of a folio whose answers cannot be fetched or cannot be trusted. If such a folio stops the run, the hint
 * names the command that gives it up.
 */
import type { ChunkRow } from '../../checkpoint/checkpoint.js';
import { BrokenReplyError, OutageError, reworded, type UntrustedError } from '../../errors.js';
import { abandonCommand } from '../../report/adoptable.js';
import { askProvider } from '../../results/mismatch-hints.js';
import type { RunContext } from '../../run-context.js';

/** Giving the folio up does not help: the next one ends the same way, or an output in place has its answers. */
const OTHER_WAYS: ReadonlySet<string> = new Set([
  'ANSWERS_ONLY_IN_OUTPUT',
  'COLUMNS_CHANGED',
  'NOTHING_PREDICTED',
  'SERVICE_MIXED',
]);

/**
 * The same error, with the command that gives the folio up at the end of its hint.
 * @param run the run's id: in a sample, `last` would name another run.
 */
export function withGiveUpHint<Known extends UntrustedError>(
  run: string,
  { number, state }: Pick<ChunkRow, 'number' | 'state'>,
  error: Known,
): Known {
  if (OTHER_WAYS.has(error.code)) return error;
  const confirmed = state === 'downloaded' ? ' --yes' : '';
  const way = `to go on without its answers, which stay paid for: ${abandonCommand(run, number)}${confirmed}`;
  return reworded(error, { hint: `${error.hint ?? askProvider}; ${way}` });
}

/**
 * Defers an error after which the other folios go on; the run then ends with it. After an outage the same command goes
 * on. Replies that break the interface come first, because a person must look at them.
 * @returns whether it is such an error.
 */
export function deferTrouble(
  { id, deferred }: Pick<RunContext, 'id' | 'deferred'>,
  chunk: ChunkRow,
  error: unknown,
): boolean {
  if (error instanceof BrokenReplyError) {
    const { code, message, facts } = error;
    const named = new BrokenReplyError(code, message, {
      hint: askProvider,
      facts: { ...facts, chunk: chunk.number },
    });
    deferred.error = withGiveUpHint(id, chunk, named);
    return true;
  }
  if (!(error instanceof OutageError)) return false;
  deferred.error ??= error;
  return true;
}
