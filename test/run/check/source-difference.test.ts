/** How a source is compared with what a run has sent of it. */
import { rm } from 'node:fs/promises';
import { expect, it } from 'vitest';
import type { ChunkRow, Run } from '../../../src/checkpoint/checkpoint.js';
import { parseConfig } from '../../../src/config/load-config.js';
import { differenceText } from '../../../src/run/check/source-difference.js';
import { minimalWith } from '../../helpers/config/minimal-config.js';
import { useFiles } from '../../helpers/folders/folders.js';
import { scanPaths } from '../../helpers/source/scan-paths.js';

const write = useFiles();

it('reads no further than it takes to see that more would be sent than was', async () => {
  const config = parseConfig(minimalWith({}));
  const then = await scanPaths([
    await write('1.csv', 'BusinessName\nA\n'),
    await write('2.csv', 'BusinessName\nB\n'),
  ]);
  const paths = [await write('1.csv', `BusinessName\n${'A'.repeat(100_000)}\n`), then.files[1]!.path];
  const now = await scanPaths(paths);
  // The records behind may be of any size.
  await rm(paths[1]!);
  const { dataStart: offset } = then.files[0]!;
  const chunk = {
    number: 1,
    firstRecord: 1,
    lastRecord: 2,
    records: 2,
    bytes: 40,
    sha256: 'x',
    start: { file: 0, offset },
  } as unknown as ChunkRow;
  const context = {
    config,
    checkpoint: {
      nextChunk: async (_run: string, _round: number, after: number) => (after === 0 ? chunk : undefined),
      pickedRecords: async () => undefined,
    },
    files: { hasChunk: async () => false, chunkContent: async () => expect.unreachable() },
    signal: new AbortController().signal,
  };
  const run = { id: 'r1', source: then, choice: null } as unknown as Run;
  expect(await differenceText(context, run, now)).toMatch(
    /the first record that differs is one of 1 to 2 \(chunk 1\)$/,
  );
});
