/** Reading the source again in the middle of a run. */
import { existsSync } from 'node:fs';
import { expect, it } from 'vitest';
import { checkAllFiles } from '../../src/stages/read-source.js';
import type { Source } from '../../src/types.js';

/** A regular file that nobody may read, root included. */
const path = '/proc/self/clear_refs';

it.runIf(existsSync(path))('a file that can no longer be read is told as the source', async () => {
  const file = { path, bytes: 0, stamp: 'of before', sha256: 'of before', dataStart: 0 };
  const source = { files: [file] } as unknown as Source;
  await expect(checkAllFiles(source)).rejects.toMatchObject({
    code: 'SOURCE_UNREADABLE',
    exitCode: 4,
    message: expect.stringContaining(path),
    hint: expect.stringMatching(/./),
    facts: { file: path },
  });
});
