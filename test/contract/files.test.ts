import { afterAll, expect, it } from 'vitest';
import { createLocalOutputStore } from '../../src/files/local-output-store.js';
import { createLocalFiles } from '../../src/files/local-run-files.js';
import type { FileStore, RunFiles } from '../../src/files/run-files.js';
import { createS3OutputStore } from '../../src/files/s3/s3-output-store.js';
import { useNewFolders } from '../helpers/folders/folders.js';
import { createMemoryFiles } from '../helpers/memory/memory-files.js';
import { createMemoryOutputStore } from '../helpers/memory/memory-output-store.js';
import { recording } from '../helpers/recording.js';
import { openS3Server, s3Options } from '../helpers/s3/s3-server.js';
import { describeFileStore } from './files-contract.js';
import { describeOutputStore } from './output-store-contract.js';

const s3 = await openS3Server();
afterAll(() => s3.close());

const newFolder = useNewFolders();

describeFileStore('local disk', async () => createLocalFiles(await newFolder()));
/** The methods of the ports that the contract has called. */
const called = { store: new Set<string>(), files: new Set<string>() };
describeFileStore('memory', async () => {
  const store = createMemoryFiles();
  const ofRun = async (run: string) => recording(await store.ofRun(run), called.files);
  return recording({ ...store, ofRun }, called.store);
});
it('the contract of files calls every method of the ports', () => {
  const ofStore: readonly (keyof FileStore)[] = ['ofRun', 'sizeOf', 'remove', 'runs'];
  const ofFiles: readonly (keyof RunFiles)[] = [
    ...([
      'writeChunk',
      'chunkContent',
      'hasChunk',
      'removeChunk',
      'writePart',
      'syncParts',
      'readPart',
    ] as const),
    'removePart',
  ];
  expect(ofStore.filter((name) => !called.store.has(name))).toEqual([]);
  expect(ofFiles.filter((name) => !called.files.has(name))).toEqual([]);
});
describeOutputStore('local folders', createLocalOutputStore);
describeOutputStore(
  'S3',
  () => createS3OutputStore(s3Options(s3), undefined, 5_000_000),
  `s3://${s3.bucket}`,
);
describeOutputStore(
  'S3 in parts',
  () => createS3OutputStore(s3Options(s3), undefined, 100_000),
  `s3://${s3.bucket}`,
);
describeOutputStore('memory', createMemoryOutputStore);
