/** Sends the first records of a run alone and checks their results, before the rest is paid for. */
import {
  canaryChunks,
  checkCanary,
  checkLoadOfRest,
  downloadParts,
  drain,
  isCanaryAnswered,
  isPastCanary,
  type OpenRun,
  refetchParts,
  runStages,
  submitChunks,
  trackFolios,
} from '../src/index.js';

/**
 * Does nothing if the run has no canary, if the canary is everything that is sent, or if it has passed already. Results that
 * are already on the disk are only checked again.
 * @throws GuardError, UntrustedError, TroubleError, see `checkCanary`, before anything else is uploaded; the errors of
 *   `checkLoadOfRest`, because the canary tells the columns of the service.
 */
export async function tryCanary(run: OpenRun): Promise<void> {
  if (run.canary === 0 || run.toSend <= run.canary) return;
  if (await isPastCanary(run)) return;
  if (!(await isCanaryAnswered(run))) {
    await runStages(
      run.controller,
      canaryChunks(run),
      submitChunks(run, (chunk) => refetchParts(run, chunk)),
      trackFolios(run),
      downloadParts(run),
      drain,
    );
  }
  await checkCanary(run, (chunk) => refetchParts(run, chunk));
  await checkLoadOfRest(run);
}
