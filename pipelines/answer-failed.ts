/** Asks again for failed records when all chunks are answered: first in rounds of uploads, then by single searches. */
import {
  checkAllMerged,
  closeRound,
  isRoundCut,
  type OpenRun,
  rescueFailed,
  retryFailed,
  TroubleError,
} from '../src/index.js';
import { sendAndFetch } from './answer-source.js';

/**
 * Runs the rounds and searches that `failures` configures. An open round is always finished, even if the config has
 * changed.
 * @throws the error that stops a chunk, a round or a search; a later run continues from there.
 */
export async function answerFailed(run: OpenRun): Promise<void> {
  await checkAllMerged(run);
  await finishBegunRounds(run);
  const { rounds, rescue } = run.config.failures;
  while ((await closedRounds(run)) < rounds && (await sendRound(run)));
  if (rescue === 'search') await rescueFailed(run);
}

/**
 * Finishes the rounds that have begun, with uploads if needed.
 * @returns whether there were any.
 */
export async function finishBegunRounds(run: OpenRun): Promise<boolean> {
  let found = false;
  for (; await isRoundBegun(run); found = true) await sendRound(run);
  return found;
}

/**
 * Sends the failed records again, in the first round that is not closed.
 * @returns false if there was nothing to send.
 */
export async function sendRound(run: OpenRun): Promise<boolean> {
  const round = (await closedRounds(run)) + 1;
  const failed = retryFailed(run, round);
  await sendAndFetch(run, failed);
  return closeRound(run, round);
}

/**
 * Closes the rounds that have begun, without uploads.
 * @throws TroubleError `ROUND_UNFINISHED` when one needs an upload.
 */
export async function closeBegunRounds(run: OpenRun): Promise<void> {
  while (await isRoundBegun(run)) {
    const round = (await closedRounds(run)) + 1;
    const { chunks } = await run.checkpoint.tally(run.id);
    const unsent = chunks.cut + chunks.uploading + chunks.ambiguous;
    if (unsent > 0 || !(await isRoundCut(run, round))) {
      throw new TroubleError(
        'ROUND_UNFINISHED',
        `run ${run.id}: round ${round} sends failed records again, and not all of them are sent`,
        { hint: 'foliopipe run sends the rest and goes on', facts: { run: run.id, round } },
      );
    }
    await closeRound(run, round);
  }
}

async function isRoundBegun(run: OpenRun): Promise<boolean> {
  return (await run.checkpoint.lastRound(run.id)) > (await closedRounds(run));
}

async function closedRounds(run: OpenRun): Promise<number> {
  return (await run.checkpoint.run(run.id))!.round;
}
