/** The end of a job: the summary of its run, which is logged too. */
import {
  loadAfterPublishing,
  loadStatus,
  type RunSummary,
  type SummaryNotes,
  summarizeRun,
} from '../src/index.js';
import type { ReadyRun } from './with-ready-run.js';

/** @returns the summary of the run, as this process leaves it. */
export async function endOfRun(run: ReadyRun, notes: SummaryNotes = {}): Promise<RunSummary> {
  // A command that loads nothing also reports the state of the load, such as that of an output that is only published.
  const row = (await run.checkpoint.run(run.id))!;
  const load = notes.load ?? (await loadStatus(run.checkpoint, run.config, row));
  const summary = await summarizeRun(run, run.id, run.found, { ...notes, load });
  const { state, exitCode, counts, publication } = summary;
  const { successful, failed, unprocessed, rejected } = counts;
  const code = exitCode === null ? '' : `, exit code ${exitCode}`;
  run.logger.info(
    { type: 'end', run: run.id, pipeline: summary.pipeline, state, exitCode, publication, counts },
    `run ${run.id} is ${state}${code}: ${successful} successful, ${failed} failed, ${unprocessed} unprocessed, ${rejected} rejected`,
  );
  return summary;
}

/** The end of a job that also loads its publication, if the config asks for it. A withheld run has none. */
export async function loadAndEnd(run: ReadyRun, notes: SummaryNotes = {}): Promise<RunSummary> {
  const row = (await run.checkpoint.run(run.id))!;
  const publication = notes.partial ?? (row.state === 'done' ? row.publication : null);
  const load = publication === null ? undefined : await loadAfterPublishing(run, row, publication);
  return endOfRun(run, { ...notes, load });
}
