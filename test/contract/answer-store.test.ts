/** The answer store on the local disk, under the contract of answer stores. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import { createLocalAnswerStore } from '../../src/reuse/local-answer-store.js';
import { describeAnswerStore } from './answer-store-contract.js';

const folders: string[] = [];
afterAll(() => Promise.all(folders.map((folder) => rm(folder, { recursive: true, force: true }))));

const newFolder = async () => {
  const folder = await mkdtemp(join(tmpdir(), 'foliopipe-reuse-'));
  folders.push(folder);
  return join(folder, 'reuse');
};
describeAnswerStore('local disk', async () => createLocalAnswerStore(await newFolder()));
describeAnswerStore('local disk, small lanes and blocks', async () =>
  createLocalAnswerStore(await newFolder(), { block: { entries: 1, valueInts: 1 }, laneBits: 5 }),
);
