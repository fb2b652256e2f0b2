/** A checkpoint that is lost during splits, rounds and searches: after recover the job ends as if nothing had happened. */
import { describe, expect, it } from 'vitest';
import { type Failpoint, recover } from '../../../pipelines/index.js';
import { failing, withLatestRun } from '../../helpers/jobs/failing-job.js';
import {
  fineNames,
  type LocalJob,
  type LocalJobSetup,
  predictedCode,
  withLocalJob,
} from '../../helpers/jobs/local-job.js';
import { killAt, loseCheckpoint } from '../../helpers/state/killed-state.js';

const one = { uploads: 1, folios: 4, downloads: 1 };
const bad = { on: 'upload', contains: 'Very Bad', fault: { status: 422 } };
const names = fineNames(30).map((name, at) => (at === 12 ? 'Very Bad, Inc' : name));
const rescueColumns = { naics_code: 'response.naics_code', naics_title: 'response.naics_title' };
const failures = { tolerate: '100%', rounds: 1, rescue: 'search', rescueColumns };

/** Ten records fail at first, one is refused, and records that fail again are searched. */
const setup: LocalJobSetup = {
  names,
  rules: [bad, failing('40%', 12)],
  config: { concurrency: one },
};

/** The window, and which passing of it. */
const kills: readonly (readonly [Failpoint, number, string])[] = [
  ['after-split-before-upload', 2, 'two splits are made'],
  ['after-accepted-before-poll', 4, 'some halves are sent'],
  ['after-post-before-commit', 6, 'a chunk of the round is with the service'],
  ['after-settled-before-merge', 1, 'the round is settled'],
  ['after-search-before-next', 1, 'a search is answered'],
  ['after-search-post-before-commit', 2, 'a search is with the service'],
];

describe('a checkpoint that was lost while', () => {
  it.each(kills)('%s, %i: %s', async (point, nth) => {
    await withLocalJob(setup, async (job) => {
      const config = searching(job);
      await killAt(job, point, nth, config);
      const before = await paid(job);
      await loseCheckpoint(job);
      await recover(job.config());
      expect(await paid(job)).toEqual(before);

      const summary = await job.enrich(config);
      expect(summary.counts).toMatchObject({ read: 30, unprocessed: 0 });
      for (const [at, row] of (await job.rows()).entries()) {
        expect(row.Name).toBe(names[at]);
        if (row.prediction_status !== 'SUCCESSFUL') continue;
        expect(row.prediction_naics_code, `record ${at + 1}`).toBe(predictedCode(row.Name!));
      }
      const folios = await job.served();
      const { uploads } = await withLatestRun(job, (reader, run) => reader.tally(run));
      expect(folios.length).toBeLessThanOrEqual(uploads.accepted + uploads.ambiguous);
    });
  });

  it('a cap is near still respects the cap', async () => {
    await withLocalJob({ names: fineNames(30) }, async (job) => {
      await killAt(job, 'after-accepted-before-poll', 2);
      await loseCheckpoint(job);
      await recover(job.config());
      expect(await job.failure({ budget: { perRun: 25 } })).toMatchObject({
        code: 'BUDGET_REACHED',
        exitCode: 9,
      });
    });
  });
});

/** The address of the search is known only after the service is open. */
function searching(job: LocalJob): Readonly<Record<string, object>> {
  return { failures, service: { legacyBaseUrl: job.config().service.baseUrl! } };
}

/** What was paid by the checkpoint, and the state of each chunk. */
function paid(job: LocalJob): Promise<unknown> {
  return withLatestRun(job, async (reader, run) => {
    const { uploads, searches, chunks } = await reader.tally(run);
    const { uploading, ambiguous, split, refused } = chunks;
    const { round } = (await reader.run(run))!;
    return {
      accepted: uploads.accepted,
      answered: searches.answered,
      unknown: uploading + ambiguous,
      ...{ split, refused, round },
      spent: (await reader.spending('nightly', run, '2026-11-21')).run,
    };
  });
}
