/**
 * The error with which the next `foliopipe run` stops before it sends anything, as far as the state and the output show
 * it. `foliopipe status` reports it, so that nobody has to run a command that cannot go on.
 */
import type { CheckpointReader, Run } from '../checkpoint/checkpoint.js';
import { isUnfinished } from '../checkpoint/walk-run.js';
import type { Config } from '../config/schema.js';
import {
  frozenOutputPath,
  withLimit,
  withOutputPath,
  withPlannedPath,
} from '../config/sections/output-path.js';
import { ConfigError, FoliopipeError, UntrustedError } from '../errors.js';
import type { OutputStore } from '../files/output-store.js';
import { findBehind } from '../report/output-owner.js';
import { isPlayedElsewhere } from '../report/what-next.js';
import { checkNotMisread, checkOneService } from '../stages/submit/check-replies.js';
import { codeOf } from '../streams/system-error.js';
import { refuseMoved } from './state-reader.js';

interface NextStopSources {
  readonly config: Config;
  readonly checkpoint: Pick<CheckpointReader, 'publications' | 'runs'> & RepliesReader;
  readonly output: Pick<OutputStore, 'read'>;
}

type RepliesReader = Parameters<typeof checkNotMisread>[0] & Parameters<typeof checkOneService>[0];

/**
 * @param run the last run of the pipeline, or its unfinished one.
 * @returns undefined if nothing is known that stops it.
 */
export async function findNextStop(
  { config, checkpoint, output }: NextStopSources,
  run: Run,
): Promise<FoliopipeError | undefined> {
  const moved = await errorOf(() => refuseMoved(config));
  if (moved !== undefined) return moved;
  const path = nextOutputPath(config, run);
  const behind = await findBehind(output, path, run.pipeline, checkpoint).catch(unlessUnreadable);
  if (behind !== undefined || run.state !== 'open') return behind;
  // Replies to earlier uploads that stop every later process.
  return errorOf(async () => {
    await checkNotMisread(checkpoint, run.id);
    await checkOneService(checkpoint, run.id);
  });
}

/** The path that the next `foliopipe run` looks at. An unfinished run has its own, and so has a played rehearsal. */
function nextOutputPath(config: Config, run: Run): string {
  if (run.state === 'publishing') return run.publication!.output.path;
  if (isPlayedElsewhere(config, run)) return frozenOutputPath(run)!;
  return isUnfinished(run)
    ? withOutputPath(withLimit(config, run.source.limit), run).output.path
    : withPlannedPath(config, Date.now()).output.path;
}

/** Ignores the error of a store that cannot be reached. */
function unlessUnreadable(error: unknown): undefined {
  if (!(error instanceof FoliopipeError) && codeOf(error) === '') throw error;
}

/** @returns undefined if the check passes. */
async function errorOf(check: () => Promise<void>): Promise<FoliopipeError | undefined> {
  try {
    await check();
    return undefined;
  } catch (error) {
    if (error instanceof ConfigError || error instanceof UntrustedError) return error;
    throw error;
  }
}
