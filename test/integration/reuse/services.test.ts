/** Whose answers a night may take: those of the same service, of all pipelines, and never those of a rehearsal. */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openCheckpointReader, plan } from '../../../pipelines/index.js';
import { openFakeService } from '../../fake-service/fake-service.js';
import { expectEnriched } from '../../helpers/jobs/fake-service-job.js';
import {
  changedLines,
  type Nights,
  sampleLines,
  unknownNames,
  withNights,
  withNote,
} from '../../helpers/jobs/nights.js';
import { openServe, serveToken } from '../../helpers/service/serve.js';

const A = sampleLines(60);
const noted = (note: string) => A.map((one) => withNote(one, note));

/** Runs `use` with a second service. */
async function withOther(use: (changes: { service: object }, uploads: () => number) => Promise<void>) {
  const other = await openFakeService();
  try {
    await use({ service: { baseUrl: other.url, token: other.token } }, () => other.count('upload'));
  } finally {
    await other.close();
  }
}

describe('a service that has moved', () => {
  it('without a name is another one: all is bought', async () => {
    await withNights({}, async (nights) => {
      await nights.night(A);
      await withOther(async (moved, uploads) => {
        expect((await nights.badNight(noted('b'), moved)).error).toMatchObject({ code: 'REUSE_MISS' });
        expect(uploads()).toBe(0);
        await nights.again(moved, { yes: true });
        expect(uploads()).toBe(6);
      });
    });
  });

  it('with a name is the same one', async () => {
    await withNights({ config: { service: { name: 'predictor' } } }, async (nights) => {
      await nights.night(A);
      await withOther(async (moved, uploads) => {
        await nights.night(noted('b'), moved);
        expect(uploads()).toBe(0);
        await expectEnriched(nights);
      });
    });
  });

  it('gets its name first, then moves: the answers stay, also those of before', async () => {
    await withNights({}, async (nights) => {
      await nights.night(A);
      const named = { service: { name: 'predictor' } };
      expect((await nights.night(noted('b'), named)).bought).toEqual([]);
      const B = changedLines(A, 4);
      expect((await nights.night(B, named)).bought).toEqual(unknownNames(B, A));
      await expectEnriched(nights);
    });
  });

  it('gets its first name: what it has done stays done, also without reuse', async () => {
    await withNights({ config: { reuse: { maxAge: 0 } } }, async (nights) => {
      const { run } = await nights.night(A);
      const named = { service: { name: 'predictor' } };
      expect(await plan(nights.config(named))).toMatchObject({ next: { kind: 'done', run } });
      expect(await nights.again(named)).toMatchObject({ found: 'done', run, bought: [] });
      // The next night is one of the service with its name.
      expect(await nights.night(noted('b'), named)).toMatchObject({ service: 'predictor', found: 'new' });
      expect(await nights.again(named)).toMatchObject({ found: 'done', bought: [] });
    });
  });

  it('under the same name never takes the answers of another name', async () => {
    await withNights({ config: { service: { name: 'one' } } }, async (nights) => {
      await nights.night(A);
      const { error } = await nights.badNight(noted('b'), { service: { name: 'two' } });
      expect(error).toMatchObject({ code: 'REUSE_MISS' });
    });
  });
});

describe('two pipelines', () => {
  it('share answers', async () => {
    await withNights({}, async (nights) => {
      await nights.night(A);
      const other = { pipeline: 'other', output: { path: 'out/other.csv' } };
      const B = changedLines(A, 4);
      expect((await nights.night(B, other)).bought).toEqual(unknownNames(B, A));
      expect((await nights.night(B.map((one) => withNote(one, 'c')))).bought).toEqual([]);
      await expectEnriched(nights);
    });
  });

  it('of which one has lost its results do not keep a new one from its first night', async () => {
    await withNights({}, async (nights) => {
      const pipeline = (name: string) => ({ pipeline: name, output: { path: `out/${name}.csv` } });
      await nights.night(A, { ...pipeline('lost'), reuse: { maxAge: 0 } });
      rmSync(join(nights.config().stateDir, 'runs'), { recursive: true });
      await nights.night(noted('b'), pipeline('kept'));
      expect((await nights.night(noted('c'))).bought).toEqual([]);
      await expectEnriched(nights);
    });
  });

  it('with other sent columns do not', async () => {
    await withNights({}, async (nights) => {
      await nights.night(A);
      const other = {
        pipeline: 'other',
        output: { path: 'out/other.csv' },
        upload: { columns: { title: 'Note' } },
      };
      expect((await nights.night(noted('b'), other)).bought).toHaveLength(60);
    });
  });
});

describe('a rehearsal', () => {
  const rehearse = async (nights: Nights, use: (local: { service: object }) => Promise<void>) => {
    const serve = await openServe(join(nights.folder, 'service'), {});
    try {
      await use({ service: { baseUrl: serve.url, token: serveToken } });
    } finally {
      await serve.stop();
    }
  };

  it('gives its answers to the next rehearsal, and to no other service', async () => {
    await withNights({}, async (nights) => {
      await rehearse(nights, async (local) => {
        expect(await nights.night(A, local)).toMatchObject({ rehearsal: true });
        expect(await nights.night(noted('b'), local)).toMatchObject({
          rehearsal: true,
          bought: [],
          uploads: { accepted: 0 },
        });
        expect(await nights.published()).toContain('enriched.csv._REHEARSAL');
      });
      expect((await nights.night(noted('c'), {}, { yes: true })).bought).toHaveLength(60);
      await expectEnriched(nights);
    });
  });

  it('under the name of a service gives it nothing, also from before reuse was set', async () => {
    await withNights({ config: { service: { name: 'predictor' } } }, async (nights) => {
      await rehearse(nights, async (local) => {
        const first = await nights.night(A, { ...local, reuse: { maxAge: 0 } });
        expect(first).toMatchObject({ rehearsal: true });
      });
      const summary = await nights.again({}, { yes: true, fresh: true });
      expect(summary).toMatchObject({ rehearsal: false, found: 'new' });
      expect(summary.bought).toHaveLength(60);
      await expectEnriched(nights);
    });
  });

  it('under the name of a service is no night of it, and no run that is done', async () => {
    await withNights({ config: { service: { name: 'predictor' } } }, async (nights) => {
      const known = async () => {
        const reader = (await openCheckpointReader(nights.config().stateDir))!;
        const columns = await reader.knownColumns('hostile', 'predictor');
        await reader.close();
        return columns;
      };
      await rehearse(nights, async (local) => {
        expect(await nights.night(A, local)).toMatchObject({ rehearsal: true });
        expect(await nights.again(local)).toMatchObject({ found: 'done' });
      });
      expect(await known()).toBeUndefined();
      expect(await plan(nights.config())).toMatchObject({
        next: { kind: 'begin' },
        reuse: { stops: null },
      });
      const summary = await nights.again();
      expect(summary).toMatchObject({ found: 'new', rehearsal: false });
      expect(summary.bought).toHaveLength(60);
      expect(await known()).toEqual(summary.columns);
    });
  });

  it('under the name of a service leaves it its automatic canary', async () => {
    const config = { service: { name: 'predictor' }, chunks: { canary: 'auto' } };
    await withNights({ config }, async (nights) => {
      const canary = async () => {
        const reader = (await openCheckpointReader(nights.config().stateDir))!;
        const run = (await reader.latestRun('hostile'))!;
        await reader.close();
        return run.canary;
      };
      const canaries: number[] = [];
      await rehearse(nights, async (local) => {
        for (const note of ['a', 'b']) {
          await nights.night(noted(note), local);
          canaries.push(await canary());
        }
      });
      for (const note of ['c', 'd']) {
        await nights.night(noted(note), {}, { yes: true });
        canaries.push(await canary());
      }
      expect(canaries).toEqual([200, 0, 200, 0]);
    });
  });

  it('under the name of a service gives it nothing', async () => {
    await withNights({ config: { service: { name: 'predictor' } } }, async (nights) => {
      await rehearse(nights, async (local) => {
        expect(await nights.night(A, local)).toMatchObject({ rehearsal: true });
      });
      const summary = await nights.night(noted('c'), {}, { yes: true });
      expect(summary.bought).toHaveLength(60);
      expect(summary.rehearsal).toBe(false);
      await expectEnriched(nights);
    });
  });
});
