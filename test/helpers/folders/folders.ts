/** Temporary folders for tests; each is made when it is first asked for and removed afterwards. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach } from 'vitest';

/** Returns a function that gives the path of a folder that lives as long as one test. */
export function useFolder(): () => Promise<string> {
  const folder = createFolder();
  afterEach(folder.remove);
  return folder.path;
}

/** Returns a function that gives the path of a folder that all tests of one file share. */
export function useSharedFolder(): () => Promise<string> {
  const folder = createFolder();
  afterAll(folder.remove);
  return folder.path;
}

/** Returns a function that gives another folder at each call; they live as long as the tests of one file. */
export function useNewFolders(): () => Promise<string> {
  const folders: ReturnType<typeof createFolder>[] = [];
  afterAll(() => Promise.all(folders.map(({ remove }) => remove())));
  return () => {
    const folder = createFolder();
    folders.push(folder);
    return folder.path();
  };
}

/** Returns a function that writes a file into a folder of the test and gives the file's path. */
export function useFiles(): (name: string, content: string | Uint8Array) => Promise<string> {
  const folder = useFolder();
  return async (name, content) => {
    const path = join(await folder(), name);
    await writeFile(path, content);
    return path;
  };
}

/** Calls `use` with a new empty folder, removed afterwards. */
export async function withFolder<T>(use: (folder: string) => Promise<T>): Promise<T> {
  const { path, remove } = createFolder();
  try {
    return await use(await path());
  } finally {
    await remove();
  }
}

function createFolder() {
  let made: Promise<string> | undefined;
  return {
    path: () => {
      made ??= mkdtemp(join(tmpdir(), 'foliopipe-test-'));
      return made;
    },
    // An aborted stage may still be writing the file of a chunk while the folder is removed, hence the retries.
    remove: async () => {
      if (made !== undefined) await rm(await made, { recursive: true, force: true, maxRetries: 5 });
      made = undefined;
    },
  };
}
