/** Real files for tests, in a folder that is removed after each of them. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach } from 'vitest';

/** Returns a function that writes a file into a fresh folder and gives its path. */
export function useFiles(): (name: string, content: string | Uint8Array) => Promise<string> {
  let folder: Promise<string> | undefined;
  afterEach(async () => {
    if (folder !== undefined) await rm(await folder, { recursive: true });
    folder = undefined;
  });
  return async (name, content) => {
    folder ??= mkdtemp(join(tmpdir(), 'foliopipe-csv-'));
    const path = join(await folder, name);
    await writeFile(path, content);
    return path;
  };
}
