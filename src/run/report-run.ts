/** The report on a run: its facts as one object, and as one HTML page that needs nothing else. */

import { writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { checkCall } from '../check-call.js';
import type { CheckpointReader, Run } from '../checkpoint/checkpoint.js';
import { withCutOffUploads } from '../checkpoint/cut-off-uploads.js';
import type { Config } from '../config/schema.js';
import { diskError } from '../disk-error.js';
import { FoliopipeError } from '../errors.js';
import { createOutputStore } from '../files/create-output-store.js';
import type { OutputStore } from '../files/output-store.js';
import { PAGE, refuseForeignReport } from '../files/report-place.js';
import { hintOf } from '../hints.js';
import { makeFolder } from '../make-folder.js';
import { collectReport, type RunReport, type StoppedBy } from '../report/run-report.js';
import type { RunContext } from '../run-context.js';
import { writeFileAtomically } from '../streams/atomic-file.js';
import { type Clock, systemClock } from '../streams/clock.js';
import { loadStatus } from './load/load-status.js';
import { shownRun, withNamedRun } from './open/named-run.js';
import type { RunOptions } from './run-options.js';
import type { StateReader } from './state-reader.js';

/** The options of `reportRun`. */
export interface ReportOptions {
  /** Default: the one of the config, which is opened read-only. */
  readonly checkpoint?: CheckpointReader | undefined;
  /** Default: the store of `output.path`. */
  readonly output?: Pick<OutputStore, 'identity'> | undefined;
  readonly clock?: Clock | undefined;
  /** See `RunOptions`; it also gets the run. */
  readonly completeText?: ((text: string, run: Run) => string) | undefined;
}

/**
 * Collects what is known of a run. Takes no lock, and needs no service.
 * @param name see `shownRun`.
 * @throws ConfigError `STATE_MISSING`, `RUN_UNKNOWN`, `RUN_AMBIGUOUS`.
 */
export async function reportRun(
  config: Config,
  name = 'last',
  options: ReportOptions = {},
): Promise<RunReport> {
  checkCall('reportRun', { config, run: name, options });
  const {
    checkpoint,
    output = createOutputStore(config, { attempts: 1 }),
    clock = systemClock,
    completeText,
  } = options;
  const collect = async (state: CheckpointReader & Partial<Pick<StateReader, 'worker'>>, run: Run) => {
    const isIdle = state.worker !== undefined && (await state.worker(run.pipeline)) === undefined;
    const reader = isIdle ? withCutOffUploads(state) : state;
    const load = await loadStatus(state, config, run);
    // Not `done`, which says that this job found nothing to do: a report is not a job.
    const complete = completeText && ((text: string) => completeText(text, run));
    const terms = {
      now: clock.now(),
      found: 'continued',
      notes: { load },
      completeText: complete,
    } as const;
    return collectReport({ checkpoint: reader, output, config }, run, terms);
  };
  return withNamedRun(config, name, checkpoint, collect, shownRun);
}

/**
 * The report as HTML. Loads the drawing library, which nothing else needs.
 */
export async function reportPage(report: RunReport): Promise<string> {
  const { renderReport } = await import('../page/render-report.js');
  return renderReport(report);
}

/**
 * Writes the report to a file, which appears as a whole.
 * @param mode permissions of the file.
 * @returns its size in bytes.
 * @throws TroubleError `DISK_FULL`, `DISK_FAILED`; ConfigError `FOLDER_UNWRITABLE`, and `REPORT_PLACE_TAKEN` if the
 *   path holds anything but such a page.
 */
export async function writeReport(report: RunReport, path: string, mode: number): Promise<number> {
  const page = await reportPage(report);
  try {
    await refuseForeignReport(PAGE, path);
    makeFolder(dirname(path));
    const work = `${path}.${report.summary.run}.partial`;
    await writeFileAtomically(
      work,
      mode,
      (file) => writeFileSync(file, page),
      () => path,
    );
  } catch (error) {
    throw diskError(error, [dirname(path)]) ?? error;
  }
  return Buffer.byteLength(page);
}

/**
 * Writes the page of `report.html` when a process has worked on a run, whether it has ended well or not. If that fails,
 * a warning is logged: it does not change how the run ended.
 * @param error what has stopped this process; undefined if nothing has.
 */
export async function writeOwnReport(
  run: Pick<RunContext, 'id' | 'config' | 'source' | 'checkpoint' | 'output' | 'clock' | 'logger'>,
  { completeText }: Pick<RunOptions, 'completeText'>,
  error?: unknown,
): Promise<void> {
  const { html } = run.config.report;
  // The page of a sample would replace that of the night.
  if (html === null || run.source.limit !== undefined) return;
  try {
    const row = await run.checkpoint.run(run.id);
    // The run was removed from the state, and the error of the process says so.
    if (row === undefined) return;
    const stopped = error === undefined ? null : stoppedBy(error);
    const notes = { load: await loadStatus(run.checkpoint, run.config, row) };
    const terms = { now: run.clock.now(), found: 'continued', notes, stopped, completeText } as const;
    await writeReport(await collectReport(run, row, terms), html, run.config.output.mode);
  } catch (failure) {
    const why = failure instanceof Error ? failure.message : String(failure);
    run.logger.warn({ run: run.id, path: html }, `the report could not be written to ${html}: ${why}`);
  }
}

function stoppedBy(error: unknown): StoppedBy {
  if (!(error instanceof FoliopipeError)) return { code: 'UNEXPECTED', message: String(error), hint: null };
  return { code: error.code, message: error.message, hint: hintOf(error) ?? null };
}
