/** Makes sure that the output of a done run is in place and matches the config. */
import {
  checkDoneSource,
  checkPublished,
  isEchoChanged,
  type OpenRun,
  refetchParts,
  rewriteMarker,
} from '../src/index.js';
import { fetchFinished } from './fetch-finished.js';
import { mergeAndPublish } from './merge-and-publish.js';

/**
 * Publishes the run again from the stored results, as a new publication, if the output is missing, was replaced by
 * another publication of this pipeline, or is configured differently now. The service is asked only for parts that are
 * missing or damaged on the disk. A missing marker is written again, because a loader waits for it.
 * @param run a done run.
 * @returns the reason why it was published again, or null.
 * @throws ConfigError `OUTPUT_CHANGED` when something else has changed the output, `RUN_DONE_OTHERWISE`; GuardError
 *   `RUN_PRUNED` when its results are removed; SourceError when the source has changed.
 */
export async function publishAgain(run: OpenRun): Promise<string | null> {
  const row = (await run.checkpoint.run(run.id))!;
  const output = await checkPublished(run, row);
  if (output.kind === 'in-place') {
    if (!output.manifest) {
      const text = `run ${run.id}: the manifest of its output is missing and cannot be written again, because the results are removed`;
      run.logger.warn({ run: run.id }, text);
    }
    if (!output.marker) {
      await rewriteMarker(run, row.publication!);
      run.logger.info(
        { run: run.id },
        `run ${run.id}: the marker of its output was missing and is written again`,
      );
    }
    return null;
  }
  const source = await checkDoneSource(run, output.why);
  run.logger.info(
    { run: run.id },
    `run ${run.id} is done, and is published again from what was bought: ${output.why}`,
  );
  const isUnjoined = await unmergeAll(run);
  // Replaces columns that were declared by mistake after the publication: no row could be written with them.
  const { resultColumns } = row.publication!;
  if (!isUnjoined && resultColumns.length > 0) {
    await run.checkpoint.recordColumns(run.id, resultColumns, false);
  }
  // Fetches missing results: damaged parts, or chunks that were recovered without their parts.
  const again = { ...run, source };
  const deferred = await fetchFinished(again);
  if (deferred !== undefined) throw deferred;
  await mergeAndPublish(again, (chunk) => refetchParts(again, chunk));
  return output.why;
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
