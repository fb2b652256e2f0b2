/** Calls every reading method of a checkpoint and gives all answers as one value, for comparisons. */
import type { Checkpoint } from '../../../src/checkpoint/checkpoint.js';
import { ALL_STATES } from './walk-target.js';

/** Asks about both pipelines, and about the given runs with all their chunks. */
export async function askEverything(checkpoint: Checkpoint, runs: readonly string[]): Promise<unknown> {
  const service = 'https://service.test';
  const answers: unknown[] = [await checkpoint.runs(), await checkpoint.runs('other')];
  answers.push(await checkpoint.segments(), await checkpoint.singleSearches(undefined, '', 100));
  answers.push(await checkpoint.singleSearches('nightly', 's0', 1));
  for (const pipeline of ['nightly', 'other']) {
    answers.push(await checkpoint.unfinishedRun(pipeline), await checkpoint.latestRun(pipeline));
    answers.push(await checkpoint.doneRuns(pipeline, service, 'aa'), await checkpoint.publications(pipeline));
    answers.push(await checkpoint.knownColumns(pipeline, service));
    for (const run of [null, ...runs]) {
      for (const day of ['2026-10-31', '2026-11-01', '2026-11-21']) {
        answers.push(await checkpoint.spending(pipeline, run, day));
      }
    }
  }
  for (const folio of ['folio-0', 'folio-2']) answers.push(await checkpoint.uploadOf(service, folio));
  answers.push(await checkpoint.uploadOf('https://elsewhere.test', 'folio-0'));
  for (const run of runs) {
    answers.push(await checkpoint.tally(run), await checkpoint.misreadUpload(run));
    answers.push(
      await checkpoint.doubtsInRow(run, 'unreadable'),
      await checkpoint.doubtsInRow(run, 'redirected'),
      await checkpoint.replyKinds(run),
    );
    answers.push(await checkpoint.uploads(run, 0, 100), await checkpoint.uploads(run, 1, 2));
    answers.push(await checkpoint.unusualUploads(run, 0, 100), await checkpoint.unusualUploads(run, 1, 1));
    answers.push(await checkpoint.uploadSums(run));
    answers.push(await checkpoint.chunksIn(run, ALL_STATES, 0, 100));
    answers.push(await checkpoint.chunksIn(run, ['cut', 'split', 'downloaded', 'unprocessed'], 1, 2));
    answers.push(await checkpoint.searches(run, 0, 100), await checkpoint.searches(run, 2, 2));
    answers.push(await checkpoint.lastRound(run));
    answers.push(await checkpoint.lastStretch(run), await checkpoint.lastStretch(run, 3));
    answers.push(await checkpoint.nextStretch(run, 0), await checkpoint.nextStretch(run, 3));
    for (const round of [0, 1, 2]) {
      answers.push(await checkpoint.lastCut(run, round));
      for (const after of [0, 1, 4]) answers.push(await checkpoint.nextChunk(run, round, after));
    }
    const numbers = (await checkpoint.chunksIn(run, ALL_STATES, 0, 100)).map(({ number }) => number);
    for (const chunk of [...numbers, 99]) {
      answers.push(await checkpoint.chunk(run, chunk), await checkpoint.pickedRecords(run, chunk));
      answers.push(await checkpoint.attempts(run, chunk));
      answers.push(await checkpoint.parts(run, chunk), await checkpoint.listedParts(run, chunk));
    }
  }
  return answers;
}
