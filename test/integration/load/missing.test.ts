/** What is said of a publication whose load has failed. No database is needed: the load target is made here. */
import { expect, it } from 'vitest';
import { load, openCheckpointReader } from '../../../pipelines/index.js';
import { TroubleError } from '../../../src/errors.js';
import type { LoadTarget } from '../../../src/load/load-target.js';
import { type Business, type LoadedJob, withLoadedJob } from '../../helpers/postgres/loaded-job.js';
import { callMain } from '../../helpers/processes/call-main.js';
import { jsonLines } from '../../helpers/processes/cli.js';

const address = 'postgres://user:secret@127.0.0.1:9/nowhere';
const nowhere = {
  createDatabase: async () => ({ url: address, place: '127.0.0.1:9/nowhere', query: async () => [] }),
};

/** Takes the output, unless it is down. */
function target(isDown: boolean): { readonly loadTarget: LoadTarget } {
  const loaded = { already: false, base: null, written: 3, removed: 0, added: [] };
  return {
    loadTarget: {
      check: async () => undefined,
      load: async () => {
        if (!isDown) return loaded;
        throw new TroubleError('LOAD_UNREACHABLE', 'it cannot be reached', { hint: 'look at it' });
      },
    },
  };
}

const businesses = (name: string): Business[] =>
  ['1', '2', '3'].map((id) => ({ id, Business: `${name} ${id}` }));

async function recorded(job: LoadedJob, run: string) {
  const reader = (await openCheckpointReader(job.config().stateDir))!;
  try {
    return await reader.lastLoad(run);
  } finally {
    await reader.close();
  }
}

it('says that there is no run yet', async () => {
  await withLoadedJob(nowhere, { mode: 'replace' }, async (job) => {
    const { stderr, code } = await callMain(['load', job.file]);
    expect(code).toBe(2);
    expect(stderr).toContain(
      'pipeline hostile has no run yet [RUN_UNKNOWN]\n  next: begin one with: foliopipe run',
    );
    const runs = await callMain(['runs', job.file]);
    expect([runs.code, runs.stdout]).toEqual([0, '']);
    expect(runs.stderr).toMatch(/^no runs yet; begin one with: foliopipe run -c \S+\n$/);
  });
});

it('names what is done and what is missing, and a failed attempt never hides that a publication is loaded', async () => {
  await withLoadedJob(nowhere, { mode: 'replace' }, async (job) => {
    await job.write(businesses('A'));
    const { run: a } = await job.enrich({}, target(false));
    const loaded = await recorded(job, a);
    expect(loaded).toMatchObject({ state: 'loaded', publication: 1 });
    await expect(load(job.config(), a, target(true))).rejects.toMatchObject({ hint: 'look at it' });
    expect(await recorded(job, a)).toEqual(loaded);

    await job.write(businesses('B'));
    const failed = (await job.failure({}, target(true))) as TroubleError;
    expect(failed).toBeInstanceOf(TroubleError);
    const b = /run (\S+) is published/.exec(failed.message)?.[1];
    expect([failed.code, failed.exitCode, failed.message, failed.hint]).toEqual([
      'LOAD_UNREACHABLE',
      5,
      `it cannot be reached; the output of run ${b} is published, as publication 2, and only its load is missing`,
      `look at it; to repeat only the load: foliopipe load ${b}`,
    ]);
    expect(await recorded(job, b!)).toMatchObject({ state: 'failed', why: 'it cannot be reached' });

    // Of the loaded run, status also says that the later publication is missing.
    const { stdout } = await callMain(['status', '--run', a, job.file]);
    expect(stdout).toContain('publication 1 is loaded into');
    expect(stdout).toContain(`  load      of run ${b}: publication 2 is not loaded into`);
    expect(stdout).toMatch(new RegExp(`to load it: foliopipe load -c \\S+ ${b}\n`));
    const json = jsonLines((await callMain(['status', '--json', '--run', a, job.file])).stdout).at(-1);
    expect(json).toMatchObject({ load: { state: 'loaded' }, missingLoad: { run: b, state: 'failed' } });
    const runs = (await callMain(['runs', job.file])).stdout.split('\n');
    expect(runs.map((line) => line.endsWith('load failed'))).toEqual([false, true, false, false]);

    await load(job.config(), 'last', target(false));
    expect((await callMain(['status', '--run', a, job.file])).stdout).not.toContain('load      of run');
  });
});
