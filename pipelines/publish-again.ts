/** Makes sure that the output of a done run is in place and matches the config, or that a withheld one stays so. */
import {
  checkDoneSource,
  checkPublished,
  holdsPublication,
  isEchoChanged,
  judgedCounts,
  type OpenRun,
  type Publication,
  type Run,
  releaseReason,
  removeUnneeded,
  rewriteMarker,
  type SummaryNotes,
  type Withheld,
  withoutGivingUp,
} from '../src/index.js';
import { fetchFinished } from './fetch-finished.js';
import { mergeAndPublish } from './merge-and-publish.js';

/**
 * Publishes the run again from the stored results, as a new publication, if the output is missing, was replaced by
 * another publication of this pipeline, or is configured differently now. The service is asked only for parts that are
 * missing or damaged on the disk. If it no longer has them and the output in place does, nothing is published. A missing
 * marker is written again, because a loader waits for it. A withheld run is published only if the config allows it now.
 * Does nothing for a confirmed run, which has no output.
 * @param run a run that is done or withheld.
 * @returns the reason why it was published, for the summary.
 * @throws ConfigError `OUTPUT_CHANGED` when something else has changed the output, `RUN_DONE_OTHERWISE`; GuardError
 *   `RUN_PRUNED` when its results are removed; SourceError when the source has changed; UntrustedError
 *   `ANSWERS_ONLY_IN_OUTPUT`.
 */
export async function publishAgain(run: OpenRun): Promise<SummaryNotes> {
  const row = (await run.checkpoint.run(run.id))!;
  if (row.confirmed !== null) {
    await removeUnneeded(run);
    return {};
  }
  if (row.withheld !== null) return publishWithheld(run, row, row.withheld);
  const output = await checkPublished(run, row);
  if (output.kind === 'in-place') {
    // A kill may have come before the run's files were removed, or while it was published again.
    await removeUnneeded(run);
    if (!output.manifest) {
      const text = `run ${run.id}: the manifest of its output is missing and cannot be written again, because the results are removed`;
      run.logger.warn({ run: run.id }, text);
    }
    if (!output.marker) {
      await run.prepareOutput();
      await rewriteMarker(run, row.publication!);
      run.logger.info(
        { run: run.id },
        `run ${run.id}: the marker of its output was missing and is written again`,
      );
    }
    return {};
  }
  await writeAgain(run, row, output.why);
  return { publishedAgain: output.why };
}

/** @returns why it is published now; nothing if it is still withheld. */
async function publishWithheld(run: OpenRun, row: Run, withheld: Withheld): Promise<SummaryNotes> {
  await run.prepareOutput();
  await removeUnneeded(run);
  const why = releaseReason(judgedCounts(withheld), run.config.failures);
  if (why === null) return {};
  const publication = await writeAgain(run, row, why);
  // If `result.echo` has changed, the join is decided anew: then the counts may differ, and the output may stay withheld.
  return publication === null ? {} : { released: why };
}

/**
 * Writes all rows again, and publishes them. Never replaces a row of the same run that has an answer by one without.
 * @returns null if they are withheld.
 */
async function writeAgain(run: OpenRun, row: Run, why: string): Promise<Publication | null> {
  const again = { ...run, source: await checkDoneSource(run, why) };
  await run.prepareOutput();
  run.logger.info(
    { run: run.id },
    `run ${run.id} is ${row.state}, and is published${row.state === 'done' ? ' again' : ''} from what was bought: ${why}`,
  );
  await prepareToMergeAgain(again, row);
  return mergeAndPublish(again, { refetch: withoutGivingUp(run, () => holdsPublication(run, row)) });
}

/**
 * Prepares a run that has ended for merging all its rows again, and fetches results that are missing.
 * @param run with its source as `checkDoneSource` has found it.
 */
export async function prepareToMergeAgain(run: OpenRun, row: Run): Promise<void> {
  const isUnjoined = await unmergeAll(run);
  // Replaces columns that were declared by mistake after the publication: no row could be written with them.
  const { resultColumns } = row.publication ?? row.confirmed ?? { resultColumns: [] };
  if (!isUnjoined && resultColumns.length > 0) {
    await run.checkpoint.recordColumns(run.id, resultColumns, false);
  }
  // Fetches missing results: damaged parts, or chunks that were recovered without their parts.
  const deferred = await fetchFinished(run);
  if (deferred !== undefined) throw deferred;
}

/**
 * Makes all chunks of the run unmerged, so that its output is written again. If `result.echo` has changed, the join
 * method and the added columns are determined again too.
 * @returns whether `result.echo` has changed.
 */
export async function unmergeAll(run: OpenRun): Promise<boolean> {
  const row = (await run.checkpoint.run(run.id))!;
  if (!isEchoChanged(run.config, row)) {
    await run.checkpoint.recordUnmerged(run.id, 1);
    return false;
  }
  await run.checkpoint.recordUnjoined(run.id);
  run.join.method = null;
  return true;
}
