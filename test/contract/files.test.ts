import { expect, it } from 'vitest';
import { createLocalFiles } from '../../src/files/local-run-files.js';
import type { FileStore, RunFiles } from '../../src/files/run-files.js';
import { useNewFolders } from '../helpers/folders/folders.js';
import { createMemoryFiles } from '../helpers/memory/memory-files.js';
import { recording } from '../helpers/recording.js';
import { describeFileStore } from './files-contract.js';

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
