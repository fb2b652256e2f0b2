/** The end of a job: the summary of its run, which is logged too. */
import { loadStatus, type OpenRun, type RunSummary, type SummaryNotes, summarizeRun } from '../src/index.js';

/** @returns the summary of the run, as this process leaves it. */
export async function endOfRun(run: OpenRun, notes: SummaryNotes = {}): Promise<RunSummary> {
  const found = run.found === 'new' || run.found === 'done' ? run.found : 'continued';
  // What this command has not loaded is said too, such as an output that was only published.
  const row = (await run.checkpoint.run(run.id))!;
  const load = notes.load ?? (await loadStatus(run.checkpoint, run.config, row));
  const summary = await summarizeRun(run, run.id, found, { ...notes, load });
  const { state, exitCode, counts, publication } = summary;
  const { successful, failed, unprocessed, rejected } = counts;
  const code = exitCode === null ? '' : `, exit code ${exitCode}`;
  run.logger.info(
    { type: 'end', run: run.id, pipeline: summary.pipeline, state, exitCode, publication, counts },
    `run ${run.id} is ${state}${code}: ${successful} successful, ${failed} failed, ${unprocessed} unprocessed, ${rejected} rejected`,
  );
  return summary;
}
