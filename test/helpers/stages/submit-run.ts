/** Runs the submit stage only: uploads that fail, and what the checkpoint records of them. */
import type { PredictionApi } from '../../../src/api/prediction-api.js';
import { chunkRecords } from '../../../src/stages/chunk/chunk-records.js';
import { submitChunks } from '../../../src/stages/submit/submit-chunks.js';
import { createPermits } from '../../../src/streams/permits.js';
import { createFakeApi } from '../../fake-service/fake-api.js';
import { collect } from '../streams/collect.js';
import type { StageRun } from './stage-run.js';

export const submitAll = (run: StageRun) => collect(submitChunks(run)(chunkRecords(run)()));
export const statesOf = async (run: StageRun) =>
  (
    await run.checkpoint.chunksIn(
      run.id,
      ['cut', 'uploading', 'ambiguous', 'submitted', 'unprocessed'],
      0,
      99,
    )
  ).map(({ state }) => state);
export const attemptsOf = async (run: StageRun) =>
  (await run.checkpoint.uploads(run.id, 0, 99)).map(
    ({ chunk, attempt, state }) => `${chunk}.${attempt} ${state}`,
  );

/** A fake service whose upload fails with the error given for `chunk.attempt`. */
export function failing(errors: Record<string, Error>) {
  const service = createFakeApi();
  const { upload } = service;
  const fails: PredictionApi['upload'] = async (request, signal) => {
    const [, chunk, attempt] = /-(\d+)-(\d+)-[0-9a-f]{8}\.csv$/.exec(request.file.name)!;
    const error = errors[`${chunk}.${attempt}`];
    if (error) throw error;
    return upload(request, signal);
  };
  return { ...service, upload: fails };
}

/** The same run as the next process opens it. */
export function resumed(run: StageRun, api: StageRun['api']): StageRun {
  const controller = new AbortController();
  return {
    ...run,
    api,
    controller,
    signal: controller.signal,
    folioPermits: createPermits(run.config.concurrency.folios),
    deferred: { error: undefined },
    uploads: { stopped: false, inFlight: new Set(), unrecorded: [] },
  };
}
