/** Continues a run that was found: looks at its output and its disks again, and records what a kill has cut off. */

import type { Run } from '../../checkpoint/checkpoint.js';
import { reservePath } from '../../checkpoint/journal/disk-reserve.js';
import type { Config } from '../../config/schema.js';
import type { OutputStore } from '../../files/output-store.js';
import { workPathOf } from '../../files/work-file.js';
import { countOf, formatDuration } from '../../quantities.js';
import { recordsToSend } from '../../report/origins.js';
import { checkReplaced, refuseBehind } from '../../report/output-owner.js';
import { keepCopies } from '../../spool/open-source.js';
import { isEchoChanged } from '../../stages/merge/join-chunk.js';
import type { Source } from '../../types.js';
import { checkDisk } from '../check/check-disk.js';
import type { RunOptions } from '../run-options.js';
import type { BeginRunContext } from './begin-run.js';
import { sourceChangedError } from './done-run.js';
import { findGivenUp } from './given-up-run.js';

export interface ResumeContext extends BeginRunContext {
  readonly output: OutputStore;
  /** Called before anything is paid or written, with the path of the output. See `OpenRun.prepareOutput`. */
  readonly prepareOutput: (path: string) => Promise<void>;
}

/**
 * @param run an unfinished run, or one that is named.
 * @param source its source, checked just now.
 * @returns the run as it is now: uploads that were cut off are ambiguous.
 * @throws SourceError when the source has changed since the run began; GuardError `STATE_BEHIND`; the errors of
 *   `prepareOutput`.
 */
export async function continueRun(
  context: ResumeContext,
  run: Run,
  source: Source,
  options: RunOptions,
): Promise<Run> {
  const { existing } = options;
  if (source.sha256 !== run.source.sha256) {
    const givenUp = await findGivenUp(context, options, run, true);
    const files = await context.files.ofRun(run.id);
    throw await sourceChangedError({ ...context, files }, run, source, givenUp);
  }
  const { config, output, checkpoint, logger, clock } = context;
  const { path } = config.output;
  // A run that has begun has looked at its own path, but its state may be an older copy.
  const owner = { ...options, logger };
  if (typeof existing === 'string') await checkReplaced(output, config, clock.now(), checkpoint, owner);
  else await refuseBehind(output, path, config.pipeline, checkpoint, owner);
  await context.prepareOutput(path);
  await keepCopies(config, context.copies, source);
  if (existing === undefined && run.state === 'open') await checkDiskAgain(context, options, run);
  if (source !== run.source) await checkpoint.recordSourceStamp(run.id, source);
  if (run.state === 'open' && isEchoChanged(config, run)) {
    logger.info(
      { run: run.id, echo: config.result.echo },
      'result.echo has changed: the stored results are joined and written again',
    );
    await checkpoint.recordUnjoined(run.id);
  } else if (run.state === 'open' && declaresOtherColumns(config, run)) {
    // The rows are written again from the stored results, with the new header.
    await checkpoint.recordUnmerged(run.id, 1);
  }
  const interrupted = await checkpoint.recordInterrupted(run.id);
  if (run.state === 'open' && typeof existing !== 'string') await logContinuing(context, run);
  if (interrupted > 0) {
    logger.warn(
      { run: run.id, chunks: interrupted },
      `${countOf(interrupted, 'upload')} ${interrupted === 1 ? 'was' : 'were'} cut off when the last process ended; whether the service accepted ${interrupted === 1 ? 'it' : 'them'} is not known`,
    );
  }
  return (await checkpoint.run(run.id))!;
}

/**
 * Checks the disks for what a run has still to write, unless all is sent: an estimate must not hold back what was
 * bought.
 */
async function checkDiskAgain(
  { config, checkpoint, logger }: ResumeContext,
  options: RunOptions,
  run: Run,
): Promise<void> {
  const { records: inState } = await checkpoint.tally(run.id);
  const sent =
    inState.submitted + inState.finished + inState.downloaded + inState.unprocessed + inState.refused;
  const all = recordsToSend(run);
  // Once the whole source is cut, the chunks of rounds are counted, too.
  const toSend = run.chunks === null ? all - sent : inState.cut + inState.uploading + inState.ambiguous;
  if (toSend <= 0) return;
  const records = toSend + inState.submitted + inState.finished;
  const workFile = workPathOf(config.output.path, run.id, config.stateDir);
  const reserve = reservePath(config.stateDir, run.id);
  const write = { source: run.source, records, keepsAnswers: run.choice !== null, workFile, reserve };
  await checkDisk(config, write, { ...options, logger });
}

function declaresOtherColumns({ result }: Config, { columns }: Run): boolean {
  // In a run without a success, rows have no added columns.
  return result.columns.length > 0 && JSON.stringify(result.columns) !== JSON.stringify(columns ?? []);
}

/** Logs which run continues, its age and how many chunks are left. */
async function logContinuing({ checkpoint, clock, logger }: ResumeContext, run: Run): Promise<void> {
  const { chunks } = await checkpoint.tally(run.id);
  const here = chunks.downloaded + chunks.unprocessed + chunks.refused;
  const cut = Object.values(chunks).reduce((sum, count) => sum + count, 0) - chunks.split;
  const age = formatDuration(clock.now() - run.createdAt);
  const left =
    run.chunks === null
      ? `${cut - here} of the ${countOf(cut, 'chunk')} cut so far ${cut === 1 ? 'is' : 'are'}`
      : `${run.chunks - here} of ${countOf(run.chunks, 'chunk')}`;
  logger.info(
    { run: run.id, chunks: run.chunks, downloaded: here, openFolios: chunks.submitted },
    `continuing ${run.source.limit === undefined ? 'run' : 'sample'} ${run.id} of ${age} ago, ${left} left, ${countOf(chunks.submitted, 'folio')} open at the service`,
  );
}
