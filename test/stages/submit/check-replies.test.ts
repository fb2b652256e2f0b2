import { describe, expect, it } from 'vitest';
import type { PredictionApi } from '../../../src/api/prediction-api.js';
import { UntrustedError } from '../../../src/errors.js';
import { trackFolios } from '../../../src/stages/track/track-folios.js';
import { createFakeApi, report } from '../../fake-service/fake-api.js';
import { useFolder } from '../../helpers/folders/folders.js';
import { createStageRun, type StageRun, type StageRunOptions } from '../../helpers/stages/stage-run.js';
import { attemptsOf, resumed, submitAll } from '../../helpers/stages/submit-run.js';
import { collect } from '../../helpers/streams/collect.js';

const folder = useFolder();
const one = { uploads: 1, folios: 16 };

async function open(options: StageRunOptions = {}): Promise<StageRun> {
  return createStageRun(await folder(), options);
}

describe('replies of two services', () => {
  const answeredBy = (isLocal: (nth: number) => boolean) => {
    const service = createFakeApi();
    let nth = 0;
    const upload: PredictionApi['upload'] = async (request, signal) => ({
      ...(await service.upload(request, signal)),
      rehearsal: isLocal(++nth),
    });
    return { ...service, upload };
  };

  it.each([
    ['a local one among others', (nth: number) => nth === 2],
    ['another among local ones', (nth: number) => nth !== 2],
  ])('end the run before more is paid, and every later one: %s', async (_, isLocal) => {
    const api = answeredBy(isLocal);
    const run = await open({ config: { concurrency: one }, api });
    const error = await submitAll(run).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(UntrustedError);
    expect(error).toMatchObject({ code: 'SERVICE_MIXED', hint: expect.stringContaining('--new') });
    expect(api.folios.size).toBe(2);
    expect((await run.checkpoint.run(run.id))?.rehearsal).toBe(true);
    await expect(submitAll(resumed(run, createFakeApi()))).rejects.toMatchObject({
      code: 'SERVICE_MIXED',
    });
    expect(await attemptsOf(run)).toEqual(['1.1 accepted', '2.1 accepted']);
  });

  it('are found in a poll too, and kept for every later process', async () => {
    let polls = 0;
    const track = async () => report('PROCESSING', undefined, { rehearsal: ++polls === 2 });
    const run = await open({ records: 2, api: { ...createFakeApi(), track } });
    const [chunk] = await submitAll(run);
    const tracking = collect(
      trackFolios(run)(
        (async function* () {
          yield chunk!;
        })(),
      ),
    );
    await expect(tracking).rejects.toMatchObject({
      code: 'SERVICE_MIXED',
      exitCode: 6,
      facts: { chunk: 1, folio: 'F1' },
    });
    expect(polls).toBe(2);
    expect(await run.checkpoint.replyKinds(run.id)).toEqual({ local: false, other: true, mixed: true });
    expect((await run.checkpoint.run(run.id))?.rehearsal).toBe(true);
    await expect(submitAll(resumed(run, createFakeApi()))).rejects.toMatchObject({
      code: 'SERVICE_MIXED',
    });
  });
});
