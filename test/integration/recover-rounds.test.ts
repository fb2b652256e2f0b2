/** A checkpoint that was lost in the middle of splits, rounds and searches: rebuilt, the job ends as if nothing happened. */
import { describe, expect, it } from 'vitest';
import { type Failpoint, recover } from '../../pipelines/index.js';
import { failing, withKept } from '../helpers/failing-job.js';
import { killAt, loseCheckpoint } from '../helpers/killed-state.js';
import {
  fineNames,
  foreseenCode,
  type LocalJob,
  type LocalJobSetup,
  withLocalJob,
} from '../helpers/local-job.js';

const one = { uploads: 1, folios: 4, downloads: 1 };
const bad = { on: 'upload', contains: 'Very Bad', fault: { status: 422 } };
const names = fineNames(30).map((name, at) => (at === 12 ? 'Very Bad, Inc' : name));
const rescueColumns = { naics_code: 'response.naics_code', naics_title: 'response.naics_title' };
const failures = { tolerate: '100%', rounds: 1, rescue: 'search', rescueColumns };

/** Ten of its records fail at first, one is refused, and what fails again is searched. */
const setup: LocalJobSetup = {
  names,
  rules: [bad, failing('40%', 12)],
  config: { concurrency: one },
};

/** In which window, and at which passing. */
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
        expect(row.prediction_naics_code, `record ${at + 1}`).toBe(foreseenCode(row.Name!));
      }
      const folios = await job.served();
      const { uploads } = await withKept(job, (reader, run) => reader.tally(run));
      expect(folios.length).toBeLessThanOrEqual(uploads.accepted + uploads.ambiguous);
    });
  });

  it('a cap is near holds to that cap', async () => {
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

/** The address of the search is known once the service is open. */
function searching(job: LocalJob): Readonly<Record<string, object>> {
  return { failures, service: { legacyBaseUrl: job.config().service.baseUrl! } };
}

/** What the checkpoint says was paid for, and where each chunk stands. */
function paid(job: LocalJob): Promise<unknown> {
  return withKept(job, async (reader, run) => {
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
