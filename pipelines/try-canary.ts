/** Sends a run's first records alone and checks what comes back, before the rest is paid for. */
import {
  canaryChunks,
  checkCanary,
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
 * Does nothing where the run has no canary, or one that holds the whole source or has passed before. What is on
 * the disk already is only checked again.
 * @throws GuardError, UntrustedError, TroubleError as `checkCanary` does: nothing else was uploaded then.
 */
export async function tryCanary(run: OpenRun): Promise<void> {
  const { records, rejected } = run.source;
  if (run.canary === 0 || records - rejected <= run.canary) return;
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
}
