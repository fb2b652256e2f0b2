/** What a done run owes its pipeline: its output in place, as the config says, whatever happened to it since. */
import {
  checkDoneSource,
  checkPublished,
  isJoinedOtherwise,
  type OpenRun,
  refetchParts,
  renewMarker,
} from '../src/index.js';
import { fetchFinished } from './fetch-finished.js';
import { mergeAndPublish } from './merge-and-publish.js';

/**
 * Where the output is missing, is another publication of this pipeline or is configured otherwise, publishes the run
 * again from what was bought, under a number of its own; the service is asked only for what is not on the disk as it
 * was stored. A marker that is missing beside its output is written again: a loader waits for it.
 * @param run that is done.
 * @returns why it was published again, or null.
 * @throws ConfigError `OUTPUT_CHANGED` when somebody else has changed the output, `RUN_DONE_OTHERWISE`; GuardError
 *   `RUN_PRUNED` when the results that it takes are removed; SourceError when the source is another now.
 */
export async function publishAgain(run: OpenRun): Promise<string | null> {
  const row = (await run.checkpoint.run(run.id))!;
  const output = await checkPublished(run, row);
  if (output.kind === 'in-place') {
    if (!output.manifest) {
      const text = `run ${run.id}: the manifest of its output is missing, and its results are removed: it stays missing`;
      run.logger.warn({ run: run.id }, text);
    }
    if (!output.marker) {
      await renewMarker(run, row.publication!);
      run.logger.info(
        { run: run.id },
        `run ${run.id}: the marker of its output was missing: it is written again`,
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
  // Columns that were declared by mistake, and under which no row could be written, do not stay.
  const { resultColumns } = row.publication!;
  if (!isUnjoined && resultColumns.length > 0) {
    await run.checkpoint.recordColumns(run.id, resultColumns, false);
  }
  // What is not on the disk is asked for: a part that is damaged, or a chunk that was recovered without its parts.
  const again = { ...run, source };
  const setback = await fetchFinished(again);
  if (setback !== undefined) throw setback;
  await mergeAndPublish(again, (chunk) => refetchParts(again, chunk));
  return output.why;
}

// Before an output is written again whole: nothing of the run counts as merged.

/**
 * Where `result.echo` is another one than before, the way results are joined and the added columns are fixed anew too.
 * @returns whether they are.
 */
export async function unmergeAll(run: OpenRun): Promise<boolean> {
  const row = (await run.checkpoint.run(run.id))!;
  if (!isJoinedOtherwise(run.config, row)) {
    await run.checkpoint.recordUnmerged(run.id, 1);
    return false;
  }
  await run.checkpoint.recordUnjoined(run.id);
  run.join.method = null;
  return true;
}
