/** While the disk is full, the reserve gives room back until a reply is recorded; then nothing more is begun. */
import { existsSync, mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { createReserve, reservePath } from '../../../src/checkpoint/journal/disk-reserve.js';
import { TroubleError } from '../../../src/errors.js';
import { useFolder } from '../../helpers/folders/folders.js';

const folder = useFolder();
const full = new TroubleError('DISK_FULL', 'no space left');
const done = async () => 'done';

async function openReserve() {
  const stateDir = await folder();
  const path = reservePath(stateDir, 'r1');
  return { stateDir, path, reserve: createReserve(stateDir), size: () => statSync(path).size };
}

/** Fails until the file has given back so many bytes. */
function needing(bytes: number, size: () => number, error = full) {
  const before = size();
  return async () => {
    if (before - size() < bytes) throw error;
    return 'recorded';
  };
}

it('is on the disk before the intent, private, and larger for more requests at once', async () => {
  const { reserve, size, path } = await openReserve();
  const sizes: number[] = [];
  const measure = async () => void sizes.push(size());
  await reserve.begin('r1', measure);
  await reserve.begin('r1', measure);
  await reserve.end('r1', done);
  await reserve.begin('r1', measure);
  expect(sizes[0]).toBeGreaterThan(1024 * 1024);
  expect(sizes[1]).toBeGreaterThan(sizes[0]!);
  expect(sizes[2]).toBe(sizes[1]);
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(statSync(path).blocks * 512).toBeGreaterThanOrEqual(size());
  reserve.close();
  expect(existsSync(path)).toBe(false);
});

it('is removed once a run sends nothing more, also where a killed process has left it', async () => {
  const { stateDir, reserve, path } = await openReserve();
  await reserve.begin('r1', done);
  await reserve.end('r1', done);
  // A killed process closes nothing.
  const next = createReserve(stateDir);
  next.free('r1');
  expect(existsSync(path)).toBe(false);
  next.free('r1');
  reserve.free('r1');
  reserve.close();
});

it.each(['DISK_FULL', 'DISK_QUOTA', 'CHECKPOINT_IO'])('%s: gives room back for each reply', async (code) => {
  const { reserve, size } = await openReserve();
  await reserve.begin('r1', done);
  await reserve.begin('r1', done);
  const error = new TroubleError(code, 'no room');
  expect(await reserve.end('r1', needing(100_000, size, error))).toBe('recorded');
  expect(await reserve.end('r1', needing(100_000, size, error))).toBe('recorded');
  await expect(reserve.begin('r1', done)).rejects.toBe(error);
});

it('throws the error of the disk once nothing is left, and other errors at once', async () => {
  const { reserve, size } = await openReserve();
  await reserve.begin('r1', done);
  const other = new Error('a bug');
  const before = size();
  await expect(reserve.end('r1', () => Promise.reject(other))).rejects.toBe(other);
  expect(size()).toBe(before);
  await expect(reserve.end('r1', () => Promise.reject(full))).rejects.toBe(full);
  expect(size()).toBe(0);
});

it('is made whole again by the next process, after a kill too', async () => {
  const { reserve, size, stateDir } = await openReserve();
  await reserve.begin('r1', done);
  const whole = size();
  await reserve.end('r1', needing(1, size));
  const next = createReserve(stateDir);
  await next.begin('r1', done);
  expect(size()).toBe(whole);
});

it('begins nothing where it cannot be made', async () => {
  const { reserve, stateDir } = await openReserve();
  writeFileSync(join(stateDir, 'runs'), '');
  let isBegun = false;
  const begun = reserve.begin('r1', async () => {
    isBegun = true;
  });
  await expect(begun).rejects.toMatchObject({ code: 'STATE_DIR_UNWRITABLE' });
  expect(isBegun).toBe(false);
});

it('that cannot be removed keeps nothing else from being closed', async () => {
  const { reserve, path } = await openReserve();
  await reserve.begin('r1', done);
  rmSync(path);
  mkdirSync(path);
  expect(() => reserve.close()).not.toThrow();
});
