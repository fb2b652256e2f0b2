/** The stores of files and of publications, on the disk and in memory, under the same contract. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import { createLocalOutputStore } from '../../src/files/local-output-store.js';
import { createLocalFiles } from '../../src/files/local-run-files.js';
import { createMemoryFiles } from '../helpers/memory/memory-files.js';
import { createMemoryOutputStore } from '../helpers/memory/memory-output-store.js';
import { describeFileStore } from './files-contract.js';
import { describeOutputStore } from './output-store-contract.js';

const folders: string[] = [];
afterAll(() => Promise.all(folders.map((folder) => rm(folder, { recursive: true, force: true }))));

describeFileStore('local disk', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'foliopipe-files-'));
  folders.push(folder);
  return createLocalFiles(folder);
});
describeFileStore('memory', async () => createMemoryFiles());
describeOutputStore('local folders', createLocalOutputStore);
describeOutputStore('memory', createMemoryOutputStore);
