/** When a part with too many columns is refused over HTTP: by its header, while the rest is still to come. */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { ChunkRow } from '../../../src/checkpoint/checkpoint.js';
import { createLocalFiles } from '../../../src/files/local-run-files.js';
import { createFolioBytes } from '../../../src/stages/download/folio-limits.js';
import { fetchPart } from '../../../src/stages/download/folio-parts.js';
import { openScriptedServer } from '../../fake-service/scripted-server.js';
import { errorOf, noSignal, openTestClient } from '../../helpers/api/test-client.js';
import { useFolder } from '../../helpers/folders/folders.js';

const folder = useFolder();

it('a part of 60,000 columns is refused before its header ends', async () => {
  const names = Array.from({ length: 60_000 }, (_, at) => `column_${at}`);
  const content = Buffer.from(`${names.join(',')}\n`).toString('base64');
  const server = await openScriptedServer((response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    // The end of the header never comes: who waits for it ends with a time-out.
    response.write(`{"response":{"content":"${content.slice(0, 400_000)}`);
  });
  const stateDir = await folder();
  const chunk = { number: 1, folio: 'F1', records: 10, bytes: 1000, state: 'finished' } as ChunkRow;
  const run = {
    id: 'R',
    config: { upload: { keyColumn: 'record_id', columns: { name: 'Name' } } },
    api: openTestClient(server.url, {
      timeouts: { connect: 30_000, idle: 30_000, upload: 30_000, shutdown: 0 },
    }),
    files: await createLocalFiles(stateDir).ofRun('R'),
    signal: noSignal,
    checkpoint: { attempts: async () => [], recordMixed: async () => undefined },
  };
  const part = { fileStatus: 'SUCCESSFUL', part: 0 } as const;
  const bytes = createFolioBytes(chunk, 0);
  const error = await errorOf(
    fetchPart(run as unknown as Parameters<typeof fetchPart>[0], chunk, part, bytes, noSignal),
  );
  expect(error).toMatchObject({ code: 'PART_TOO_WIDE', exitCode: 6, facts: { chunk: 1, folio: 'F1' } });
  expect(server.seen).toHaveLength(1);
  const kept = await readdir(join(stateDir, 'runs', 'R')).catch(() => []);
  expect(kept.filter((name) => name.startsWith('part-'))).toEqual([]);
  await run.api.close();
  await server.close();
});
