import { afterEach, expect, it, vi } from 'vitest';
import { recheckLostFolios } from '../../../src/stages/track/lost-folios.js';
import { createFakeApi, report } from '../../fake-service/fake-api.js';
import { useFolder } from '../../helpers/folders/folders.js';
import { createStageRun, downloadAll } from '../../helpers/stages/stage-run.js';

const folder = useFolder();

afterEach(() => {
  vi.restoreAllMocks();
});

it('a folio is found, however long its poll and its parts take together', async () => {
  const service = createFakeApi();
  const run = await createStageRun(await folder(), { records: 2, api: service });
  await downloadAll(run);
  await run.checkpoint.recordUnprocessed(run.id, 1, 'FOLIO_LOST');

  const limits: AbortController[] = [];
  vi.spyOn(AbortSignal, 'timeout').mockImplementation(() => {
    const limit = new AbortController();
    limits.push(limit);
    return limit.signal;
  });
  /** Each reply takes as long as a request may. */
  const reply = (signal: AbortSignal) => {
    signal.throwIfAborted();
    for (const limit of limits) limit.abort(new DOMException('too late', 'TimeoutError'));
  };
  const api: typeof service = {
    ...service,
    track: async (_, signal) => {
      reply(signal);
      return report('FINISHED', 2, { successfulParts: [0, 1] });
    },
    download: async (_, consume, signal) => {
      reply(signal);
      return consume((async function* () {})(), { rehearsal: false });
    },
  };
  expect(await recheckLostFolios({ ...run, api })).toBe(1);
});
