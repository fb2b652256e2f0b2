/** Which run a name means. */
import { describe, expect, it } from 'vitest';
import type { Run } from '../../../src/checkpoint/checkpoint.js';
import { beginningWith, namedRun, shownRun } from '../../../src/run/open/named-run.js';

function run(id: string, pipeline: string): Run {
  return { id, pipeline } as Run;
}

/** Runs of the pipelines `nightly` and `other`, newest first. */
const runs = ['20261122T010000-aaa111', '20261121T010000-bbb222', '20261121T000000-ccc333'].map((id) =>
  run(id, 'nightly'),
);
const other = run('20261120T000000-ddd444', 'other');

const checkpoint = {
  run: async (id: string) => [...runs, other].find((run) => run.id === id),
  runs: async (pipeline?: string) => [...runs, other].filter((run) => run.pipeline === pipeline),
  latestRun: async () => runs[0],
};

const named = async (name: string) => (await namedRun(checkpoint, 'nightly', name))?.id;

describe('namedRun', () => {
  it('finds a run by its id, by the beginning of it, and as the last one', async () => {
    expect(await named(runs[1]!.id)).toBe(runs[1]!.id);
    expect(await named('20261122')).toBe(runs[0]!.id);
    expect(await named('20261121T00')).toBe(runs[2]!.id);
    expect(await named('last')).toBe(runs[0]!.id);
  });

  it('finds none of a beginning that no run of the pipeline has', async () => {
    expect(await named('2025')).toBeUndefined();
    expect(await named('')).toBeUndefined();
    expect(await named('20261120')).toBeUndefined();
    expect(await named(other.id)).toBe(other.id);
  });

  it('refuses a beginning of several', async () => {
    await expect(named('20261121')).rejects.toMatchObject({
      code: 'RUN_AMBIGUOUS',
      exitCode: 2,
      message: `2 runs begin with 20261121: ${runs[1]!.id}, ${runs[2]!.id}`,
    });
  });
});

it('whoever looks finds a sample as the last run, if there is nothing else', async () => {
  const samples = { ...checkpoint, latestRun: async () => undefined };
  expect(await shownRun(samples, 'nightly', 'last')).toBe(runs[0]);
  const sampleAfterNight = { ...checkpoint, latestRun: async () => runs[1] };
  expect(await shownRun(sampleAfterNight, 'nightly', 'last')).toBe(runs[1]);
  expect(await namedRun(samples, 'nightly', 'last')).toBeUndefined();
  expect(await shownRun(samples, 'nightly', '2025')).toBeUndefined();
});

describe('beginningWith', () => {
  it('takes an id that others begin with', () => {
    expect(beginningWith('a', ['ab', 'a'])).toBe('a');
  });

  it('names five of many', () => {
    const ids = ['x1', 'x2', 'x3', 'x4', 'x5', 'x6', 'x7'];
    expect(() => beginningWith('x', ids)).toThrow('7 runs begin with x: x1, x2, x3, x4, x5 and 2 more');
  });
});
