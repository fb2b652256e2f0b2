/** Asks again for failed records once all chunks are answered: in rounds of uploads, then by single searches. */
import {
  checkAllMerged,
  closeRound,
  downloadParts,
  drain,
  isRoundCut,
  type OpenRun,
  refetchParts,
  rescueFailed,
  retryFailed,
  runStages,
  submitChunks,
  TroubleError,
  trackFolios,
} from '../src/index.js';

/**
 * Does what `failures` asks for. A round that is begun is finished, whatever the config says now.
 * @throws the error that stops a chunk, a round or a search: the run goes on from there later.
 */
export async function answerFailed(run: OpenRun): Promise<void> {
  await checkAllMerged(run);
  await finishBegunRounds(run);
  const { rounds, rescue } = run.config.failures;
  while ((await closedRounds(run)) < rounds && (await sendRound(run)));
  if (rescue === 'search') await rescueFailed(run, (chunk) => refetchParts(run, chunk));
}

/**
 * Finishes the rounds that are begun, with uploads.
 * @returns whether there were any.
 */
export async function finishBegunRounds(run: OpenRun): Promise<boolean> {
  let found = false;
  for (; await isRoundBegun(run); found = true) await sendRound(run);
  return found;
}

/**
 * Sends the failed records once more, in the first round that is not closed.
 * @returns false if there was nothing to send.
 */
export async function sendRound(run: OpenRun): Promise<boolean> {
  const round = (await closedRounds(run)) + 1;
  await runStages(
    run.controller,
    retryFailed(run, round, (chunk) => refetchParts(run, chunk)),
    submitChunks(run, (chunk) => refetchParts(run, chunk)),
    trackFolios(run),
    downloadParts(run),
    drain,
  );
  return closeRound(run, round);
}

/**
 * Closes the rounds that are begun, without an upload.
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
        `run ${run.id}: not all records of round ${round} are sent, in which failed records go out again`,
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
