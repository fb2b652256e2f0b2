import { readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { mergeResults } from '../../../src/stages/merge/merge-results.js';
import { publishOutput, workPath } from '../../../src/stages/publish/publish-output.js';
import { removeUnneeded } from '../../../src/stages/publish/waiting-files.js';
import { useFolder } from '../../helpers/folders/folders.js';
import { throwAt } from '../../helpers/jobs/throw-at.js';
import { createStageRun, downloadAll, nothing, type StageRun } from '../../helpers/stages/stage-run.js';

const folder = useFolder();
const failures = { onExceeded: 'withhold' };

/** A run that is complete but for its last chunk, whose folio is lost. */
async function incomplete(config: Record<string, unknown> = { failures }): Promise<StageRun> {
  const run = await createStageRun(await folder(), { config });
  await downloadAll(run);
  await run.checkpoint.recordUnprocessed(run.id, 3, 'FOLIO_LOST');
  return run;
}

const publish = (run: StageRun, isReleased?: boolean) =>
  publishOutput(run, isReleased)(mergeResults(run)(nothing()));
const besides = async () =>
  (await readdir(await folder())).filter((name) => name.startsWith('out.csv')).sort();

describe('withholding an output', () => {
  it('commits why, leaves no file, and says so', async () => {
    const run = await incomplete();
    expect(await publish(run)).toBeNull();
    expect(await besides()).toEqual([]);
    const counts = { read: 6, successful: 4, failed: 0, unprocessed: 2, rejected: 0 };
    expect(await run.checkpoint.run(run.id)).toMatchObject({
      state: 'withheld',
      publication: null,
      withheld: { counts, origins: { sent: { records: 6, unprocessed: 2 } }, tolerate: 0.05 },
      finishedAt: run.clock.now(),
    });
    expect(run.log).toContain(
      `warn run ${run.id} is withheld: 2 records are unprocessed; nothing is published`,
    );
  });

  it('is not done where the config does not ask for it, nor for a released run', async () => {
    expect(await publish(await incomplete({}))).toMatchObject({ exitCode: 3 });
    await rm(join(await folder(), 'out.csv'));
    expect(await publish(await incomplete(), true)).toMatchObject({ exitCode: 3 });
  });

  it('is not done for a complete output', async () => {
    const run = await createStageRun(await folder(), { config: { failures } });
    await downloadAll(run);
    expect(await publish(run)).toMatchObject({ exitCode: 0 });
  });

  it('removes also what a killed publication has left', async () => {
    const run = await incomplete();
    const waiting = ['', '.rejects.csv', '.delta.csv', '.drift.csv'].map(
      (end) => `out.csv${end}.${run.id}.partial`,
    );
    const halfWritten = `out.csv.delta.csv.${run.id}.partial.tmp`;
    const own = [...waiting, `out.csv.${run.id}.deadline.partial`, halfWritten];
    for (const name of [...own.slice(1), 'out.csv.R0.partial'])
      await writeFile(join(await folder(), name), 'left');
    await publish(run);
    expect(await besides()).toEqual(['out.csv.R0.partial']);
    await writeFile(workPath(run), 'left');
    await removeUnneeded(run);
    expect(await besides()).toEqual(['out.csv.R0.partial']);
  });

  it('is not done for an output that would replace an earlier one of the same run', async () => {
    const run = await incomplete({});
    await publish(run);
    await run.checkpoint.recordReopened(run.id);
    const withholding = {
      ...run,
      config: { ...run.config, failures: { ...run.config.failures, onExceeded: 'withhold' } },
    } as StageRun;
    expect(await publish(withholding)).toMatchObject({ number: 2, exitCode: 3 });
  });

  it('but is done where that never came into its place', async () => {
    const run = await incomplete({});
    const killed = {
      ...run,
      at: throwAt('after-publishing-before-rename'),
    };
    await expect(publish(killed)).rejects.toThrow('killed');
    await run.checkpoint.recordUnpublished(run.id);
    const withholding = {
      ...run,
      config: { ...run.config, failures: { ...run.config.failures, onExceeded: 'withhold' } },
    } as StageRun;
    expect(await publish(withholding)).toBeNull();
  });

  it('is refused for a run that does not balance, which stays open', async () => {
    const run = await incomplete();
    const short = { ...run, source: { ...run.source, records: 7, rejected: 0 } };
    const tally = run.checkpoint.tally.bind(run.checkpoint);
    const wrong = {
      ...run.checkpoint,
      tally: async (id: string) => {
        const found = await tally(id);
        return { ...found, merged: { ...found.merged, records: 7 } };
      },
    };
    await expect(publish({ ...short, checkpoint: wrong })).rejects.toMatchObject({ code: 'RUN_UNBALANCED' });
    expect(await run.checkpoint.run(run.id)).toMatchObject({ state: 'open', withheld: null });
  });
});
