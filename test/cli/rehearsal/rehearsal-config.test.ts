import { describe, expect, it } from 'vitest';
import { parseConfig } from '../../../pipelines/index.js';
import {
  rehearsedFolios,
  rehearsedMaxRecords,
  relocate,
  shortenTimes,
  workDuration,
} from '../../../src/cli/rehearsal/rehearsal-config.js';

const minimal = {
  pipeline: 'nightly',
  source: { path: 'data/*.csv' },
  upload: { columns: { name: 'BusinessName' } },
  service: { embedded: true, requestsPerSecond: 10 },
  poll: { first: '1s', max: '5m', timeout: '6h' },
  retry: { first: '500ms', max: '1m', giveUpAfter: '2h' },
  output: { path: 'out/enriched.csv' },
};
const config = parseConfig({ ...minimal, stateDir: 'state' }, '/job');
const scene = { minChunks: 8 };

describe('relocate', () => {
  it('gives state and output their own paths and changes nothing else', () => {
    const moved = relocate(config, { name: 'lost-reply' });
    expect(moved.stateDir).toBe('/job/state/rehearsal/lost-reply-nightly');
    expect(moved.output.path).toBe('/job/out/rehearsal-lost-reply/enriched.csv');
    const { stateDir, output } = config;
    expect({ ...moved, stateDir, output: { ...moved.output, path: output.path } }).toEqual(config);
  });
  it('keeps a rehearsal out of the database of the real state, and out of its shared folder', () => {
    const { state, files } = parseConfig(
      { ...minimal, state: 'postgres://u@db.test/one', files: 'file:///mnt/share', scratchDir: 'scratch' },
      '/job',
    );
    const moved = relocate({ ...config, state, files, stateDir: '/job/scratch' }, { name: 'plain' });
    expect(moved).toMatchObject({ state: null, files: null });
    expect(moved.stateDir).toBe('/job/scratch/rehearsal/plain-nightly');
  });
  it('keeps a rehearsal of an output in S3 on this machine', () => {
    const output = { ...config.output, path: 's3://bucket/{date}/enriched.csv' };
    const moved = relocate({ ...config, output }, { name: 'plain' });
    expect(moved.output.path).toBe('/job/state/rehearsal/plain-nightly/output/enriched.csv');
  });
  it('keeps an output folder a folder', () => {
    const output = { ...config.output, path: '/job/out/{date}/' };
    const moved = relocate({ ...config, output }, { name: 'plain' });
    expect(moved.output.path).toBe('/job/out/rehearsal-plain/{date}/');
  });
  it('separates pipelines that share a state folder, and stays in that folder for any name', () => {
    const folder = (pipeline: string) => relocate({ ...config, pipeline }, { name: 'plain' }).stateDir;
    expect(folder('a')).not.toBe(folder('b'));
    for (const name of ['.', '..', '...']) expect(folder(name)).toBe(`/job/state/rehearsal/plain-${name}`);
  });
});

describe('shortenTimes', () => {
  it('divides the waits, multiplies the rate and keeps the time-outs', () => {
    const shorter = shortenTimes(config, { timeScale: 60 });
    expect(shorter.poll).toEqual({ first: 17, max: 5_000, timeout: 360_000, lostAfter: 30_000 });
    expect(shorter.retry).toEqual({ first: 10, max: 1_000, giveUpAfter: 120_000 });
    expect(shorter.service.requestsPerSecond).toBe(600);
    expect(shorter.timeouts).toEqual(config.timeouts);
  });
  it('never waits for less than 10 ms', () => {
    expect(shortenTimes(config, { timeScale: 100_000 }).poll.first).toBe(10);
  });
  it('changes nothing where time is not shortened', () => {
    expect(shortenTimes(config, { timeScale: 1 })).toEqual(config);
  });
});

describe('workDuration', () => {
  const night = { duration: 600_000, timeScale: 600 };
  it('is that of the scene, and longer for a large source', () => {
    expect(workDuration(night, 1_000)).toBe(600_000);
    expect(workDuration(night, 1_000_000)).toBe(600 * 40_000);
  });
  it('is 0 without a scene', () => {
    expect(workDuration({ duration: 0, timeScale: 1 }, 1_000_000)).toBe(0);
  });
});

describe('a small source', () => {
  it('is cut into as many chunks as the scene needs', () => {
    for (const records of [8, 9, 100, 1_000, 79_999]) {
      const maxRecords = rehearsedMaxRecords(10_000, records, scene);
      expect(Math.ceil(records / maxRecords)).toBeGreaterThanOrEqual(8);
    }
    expect(rehearsedMaxRecords(10_000, 1_000_000, scene)).toBe(10_000);
    expect(rehearsedMaxRecords(10_000, 3, scene)).toBe(1);
  });
  it('is not bought all at once', () => {
    expect(rehearsedFolios(16, 8, scene)).toBe(2);
    expect(rehearsedFolios(16, 1, scene)).toBe(1);
    expect(rehearsedFolios(16, 100, scene)).toBe(16);
  });
  it('is not changed without a scene', () => {
    expect(rehearsedMaxRecords(10_000, 1_000, { minChunks: 0 })).toBe(10_000);
    expect(rehearsedFolios(16, 1, { minChunks: 0 })).toBe(16);
  });
});
