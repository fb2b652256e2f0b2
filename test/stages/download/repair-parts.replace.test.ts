/** What becomes of a chunk's stored parts when they do not match its records, or cannot be read. */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { MismatchError, UntrustedError } from '../../../src/errors.js';
import { DamagedPartError } from '../../../src/files/run-files.js';
import { type UseParts, withRepair } from '../../../src/stages/download/repair-parts.js';
import { readWhole } from '../../../src/streams/read-pieces.js';
import { contentOf, createFakeApi } from '../../fake-service/fake-api.js';
import { useFolder } from '../../helpers/folders/folders.js';
import { createStageRun, downloadAll, refetching, type StageRun } from '../../helpers/stages/stage-run.js';

const folder = useFolder();

describe('the results of a chunk', () => {
  const mismatch = () => new MismatchError('RESULTS_DO_NOT_MATCH', 'other records', { hint: 'ask' });

  /** A downloaded chunk whose parts have another code in each download. */
  async function changing() {
    const service = createFakeApi();
    let downloads = 0;
    const download: typeof service.download = async (_, consume) => {
      service.asked.push('download');
      downloads += 1;
      return consume(contentOf(`id,code\n1,c${downloads}\n2,c${downloads}\n`), { rehearsal: false });
    };
    const run = await createStageRun(await folder(), { records: 2, api: { ...service, download } });
    await downloadAll(run);
    service.asked.length = 0;
    const stored = await run.checkpoint.parts(run.id, 1);
    const chunk = (await run.checkpoint.chunk(run.id, 1))!;
    const repaired = (use: UseParts<object>, isFinal = false, given = refetching(run)) =>
      withRepair(given, chunk, use, isFinal);
    return { run, stored, repaired };
  }
  const partsOnDisk = async ({ config, id }: StageRun) =>
    (await readdir(join(config.stateDir, 'runs', id))).filter((name) => name.startsWith('part-'));

  it('that do not match are replaced by those that do, also the second time', async () => {
    const { run, stored, repaired } = await changing();
    for (const time of [1, 2]) {
      const before = await run.checkpoint.parts(run.id, 1);
      const found = await repaired(async (parts) => {
        if (parts[0]!.sha256 === before[0]!.sha256) throw mismatch();
        return { time };
      });
      expect(found).toEqual({ time });
      const after = await run.checkpoint.parts(run.id, 1);
      expect(after[0]!.sha256).not.toBe(before[0]!.sha256);
      expect((await readWhole(run.files.readPart(1, after[0]!))).toString()).toContain(`c${time + 1}`);
      expect(await partsOnDisk(run)).toHaveLength(1);
    }
    expect(run.api.asked).toEqual(['track F1', 'download', 'track F1', 'download']);
    expect(stored).toHaveLength(1);
  });

  it('that never match are asked for once more, and stay as they were', async () => {
    const { run, stored, repaired } = await changing();
    const refused = repaired(async () => {
      throw mismatch();
    });
    await expect(refused).rejects.toMatchObject({ code: 'RESULTS_DO_NOT_MATCH', facts: { chunk: 1 } });
    expect(run.api.asked).toEqual(['track F1', 'download']);
    expect(await run.checkpoint.parts(run.id, 1)).toEqual(stored);
    expect(await partsOnDisk(run)).toHaveLength(1);
  });

  it('that cannot be read are fetched once more, not for ever', async () => {
    const { run, stored, repaired } = await changing();
    const refused = repaired(async ([part]) => {
      throw new DamagedPartError(1, part!, 'the disk');
    });
    await expect(refused).rejects.toMatchObject({ code: 'PART_DAMAGED' });
    expect(run.api.asked).toEqual(['download']);
    expect(await run.checkpoint.parts(run.id, 1)).toEqual(stored);
  });

  it('that are final are replaced by equal ones only', async () => {
    const { run, stored, repaired } = await changing();
    const found = repaired(async ([part]) => {
      if (part!.sha256 === stored[0]!.sha256) throw new DamagedPartError(1, part!, 'the disk');
      return {};
    }, true);
    await expect(found).rejects.toMatchObject({ code: 'PART_DAMAGED' });
    expect(await run.checkpoint.parts(run.id, 1)).toEqual(stored);
  });

  it.each([
    ['nothing fetches again', (run: StageRun) => run, mismatch()],
    [
      'fetching again cannot help',
      refetching,
      new UntrustedError('FOLIO_TOO_LARGE', 'large', { hint: 'ask' }),
    ],
  ])('are refused at once where %s', async (_, given, error) => {
    const { run, repaired } = await changing();
    const throwIt = async () => {
      throw error;
    };
    const refused = repaired(throwIt, false, given(run));
    await expect(refused).rejects.toMatchObject({ code: error.code });
    expect(run.api.asked).toEqual([]);
  });
});
