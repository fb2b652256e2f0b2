/**
 * The way out of a run that one folio stops, because what the service gives for it cannot be trusted: the hint of the
 * error names the command that gives the folio up.
 */
import type { ChunkRow } from '../../checkpoint/checkpoint.js';
import { BrokenReplyError, reworded, type UntrustedError } from '../../errors.js';
import { abandonCommand } from '../../report/adoptable.js';
import { askProvider } from '../../results/mismatch-hints.js';

/** Giving the folio up does not help: the next folio ends in the same way, or an output in place has its answers. */
const OTHER_WAYS: ReadonlySet<string> = new Set([
  'ANSWERS_ONLY_IN_OUTPUT',
  'COLUMNS_CHANGED',
  'NOTHING_PREDICTED',
  'SERVICE_MIXED',
]);

/**
 * The same error, with that command at the end of its hint.
 * @param run its id: `last` would name another run in a sample.
 */
export function withGiveUpHint<Known extends UntrustedError>(
  run: string,
  { number, state }: Pick<ChunkRow, 'number' | 'state'>,
  error: Known,
): Known {
  if (OTHER_WAYS.has(error.code)) return error;
  const confirmed = state === 'downloaded' ? ' --yes' : '';
  const way = `to go on without its answers, which stay paid for: ${abandonCommand(run, number)}${confirmed}`;
  return reworded(error, { message: error.message, hint: `${error.hint ?? askProvider}; ${way}` });
}

/** The error about replies that break the interface, with the chunk of their folio. */
export function brokenReplies(
  run: string,
  chunk: ChunkRow,
  { code, message, facts }: BrokenReplyError,
): BrokenReplyError {
  const named = new BrokenReplyError(code, message, {
    hint: askProvider,
    facts: { ...facts, chunk: chunk.number },
  });
  return withGiveUpHint(run, chunk, named);
}
