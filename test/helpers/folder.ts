/** A folder for each test, made when it is first asked for and removed afterwards. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach } from 'vitest';

/** Returns a function that gives the path of the test's folder. */
export function useFolder(): () => Promise<string> {
  let folder: Promise<string> | undefined;
  // A stage that was left while it wrote a chunk's file may still write it: it is not waited for, nor needed.
  afterEach(async () => {
    if (folder !== undefined) await rm(await folder, { recursive: true, force: true, maxRetries: 5 });
    folder = undefined;
  });
  return () => {
    folder ??= mkdtemp(join(tmpdir(), 'foliopipe-test-'));
    return folder;
  };
}
