import { expect, it } from 'vitest';
import { canaryChunks } from '../../../src/stages/chunk/chunk-records.js';
import { downloadParts } from '../../../src/stages/download/download-parts.js';
import { checkCanary } from '../../../src/stages/submit/check-canary.js';
import { submitChunks } from '../../../src/stages/submit/submit-chunks.js';
import { trackFolios } from '../../../src/stages/track/track-folios.js';
import { createFakeApi } from '../../fake-service/fake-api.js';
import { useFolder } from '../../helpers/folders/folders.js';
import { createStageRun } from '../../helpers/stages/stage-run.js';
import { collect } from '../../helpers/streams/collect.js';

const folder = useFolder();

it('a reason that the service gives for the canary is shown without the token', async () => {
  const api = createFakeApi({
    answer: ({ id }) => ({ status: 'FAILED', added: { reason: `t0ken may not ask for ${id}` } }),
  });
  const run = await createStageRun(await folder(), { canary: 2, api });
  await collect(downloadParts(run)(trackFolios(run)(submitChunks(run)(canaryChunks(run)()))));
  await expect(checkCanary(run)).rejects.toMatchObject({
    code: 'CANARY_FAILED',
    message: expect.stringMatching(
      /reasons: "?\[token\] may not ask for 1"? \(1\), "?\[token\] may not ask for 2"? \(1\)$/,
    ),
  });
});
