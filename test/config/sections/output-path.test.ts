import { describe, expect, it } from 'vitest';
import { parseConfig } from '../../../src/config/load-config.js';
import {
  frozenOutputDate,
  frozenOutputPath,
  recentPaths,
  withOutputPath,
  withPlannedPath,
} from '../../../src/config/sections/output-path.js';
import { minimalWith } from '../../helpers/config/minimal-config.js';

/** 22:30 UTC on the 21st is the 22nd in Auckland. */
const at = Date.UTC(2026, 10, 21, 22, 30);

function configOf(path: string, timeZone = 'UTC') {
  return parseConfig(minimalWith({ output: { path }, budget: { timeZone } }), '/');
}

function runOf(path: string, timeZone = 'UTC') {
  const config = configOf(path, timeZone);
  const frozen = { 'output.path': JSON.stringify(path), ...frozenOutputDate(config, at) };
  return { id: '20261121T223000-4f9c1a', pipeline: 'nightly', createdAt: at, frozen };
}

describe('the path of an output', () => {
  it.each([
    ['/out/{date}.csv', 'UTC', '/out/2026-11-21.csv'],
    ['/out/{date}.csv', 'Pacific/Auckland', '/out/2026-11-22.csv'],
    ['/out/{pipeline}/{date}/{run}.csv', 'UTC', '/out/nightly/2026-11-21/20261121T223000-4f9c1a.csv'],
    ['/out/{run}{run}.csv', 'UTC', '/out/20261121T223000-4f9c1a20261121T223000-4f9c1a.csv'],
    ['/out/plain.csv', 'UTC', '/out/plain.csv'],
  ])('%s in %s is %s', (template, timeZone, expected) => {
    const run = runOf(template, timeZone);
    expect(withOutputPath(configOf(template, timeZone), run).output.path).toBe(expected);
    expect(frozenOutputPath(run)).toBe(expected);
  });

  it('keeps the day of a run when the time zone changes later', () => {
    const run = runOf('/out/{date}.csv', 'Pacific/Auckland');
    expect(withOutputPath(configOf('/out/{date}.csv', 'UTC'), run).output.path).toBe('/out/2026-11-22.csv');
  });

  it('is made from the template again, whatever run the config was made for', () => {
    const first = withOutputPath(configOf('/out/{run}.csv'), runOf('/out/{run}.csv'));
    const other = withOutputPath(first, { ...runOf('/out/{run}.csv'), id: 'other' });
    expect(other.output).toMatchObject({ path: '/out/other.csv', template: '/out/{run}.csv' });
  });

  it('of a run that has not begun holds {run}', () => {
    const planned = withPlannedPath(configOf('/out/{date}-{run}.csv'), at);
    expect(planned.output.path).toBe('/out/2026-11-21-{run}.csv');
  });

  it('without a placeholder leaves the config as it is', () => {
    const config = configOf('/out/plain.csv');
    expect(withOutputPath(config, runOf('/out/plain.csv'))).toBe(config);
  });
});

describe('the paths of earlier outputs', () => {
  const recent = (template: string, timeZone = 'UTC') =>
    recentPaths(withPlannedPath(configOf(template, timeZone), at), at);

  it('are those of the 31 days before, the newest first, in the time zone of the budget', () => {
    const paths = recent('/out/{pipeline}/{date}/', 'Pacific/Auckland');
    expect(paths.slice(0, 3)).toEqual([
      '/out/nightly/2026-11-22/',
      '/out/nightly/2026-11-21/',
      '/out/nightly/2026-11-20/',
    ]);
    expect(paths).toHaveLength(32);
    expect(new Set(paths).size).toBe(32);
    expect(paths.at(-1)).toBe('/out/nightly/2026-10-22/');
  });

  it('are not known where there is one output', () => {
    expect(recent('/out/plain.csv')).toEqual(['/out/plain.csv']);
  });

  it('keep {run} where each run has an output of its own, beside the path of this run', () => {
    expect(recent('/out/{run}.csv')).toEqual(['/out/{run}.csv']);
    const paths = recent('/out/{date}-{run}.csv');
    expect(paths.slice(0, 2)).toEqual(['/out/2026-11-21-{run}.csv', '/out/2026-11-20-{run}.csv']);
    expect(paths).toHaveLength(32);
    const config = configOf('/out/{run}.csv');
    const path = '/out/20261121T031002-4f9c1a.csv';
    const begun = { ...config, output: { ...config.output, path, template: '/out/{run}.csv' } };
    expect(recentPaths(begun, at)).toEqual([path, '/out/{run}.csv']);
  });
});
