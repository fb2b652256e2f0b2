/** Whose publication an output is. */
import { describe, expect, it } from 'vitest';
import { refuseOtherPipeline, refuseOverPaid } from '../../src/report/output-owner.js';

const manifestOf = (facts: object) => `${JSON.stringify({ manifestVersion: 1, ...facts }, null, 2)}\n`;

const refuse = (manifest: string | undefined, isTrial = false) =>
  refuseOtherPipeline(
    { read: async () => (manifest === undefined ? undefined : Buffer.from(manifest)) },
    'out.csv',
    { pipeline: 'nightly', isTrial },
  );

const refused = { code: 'OUTPUT_OF_OTHER_PIPELINE', exitCode: 2, facts: { pipeline: 'weekly' } };

describe('refuseOtherPipeline', () => {
  it('refuses what another pipeline has published', async () => {
    const manifest = manifestOf({ pipeline: 'weekly', service: 'https://service.test' });
    await expect(refuse(manifest)).rejects.toMatchObject(refused);
    await expect(refuse(manifest, true)).rejects.toMatchObject(refused);
  });

  it('lets a pipeline replace its own output, and one without a manifest', async () => {
    await refuse(manifestOf({ pipeline: 'nightly', service: 'https://service.test' }));
    await refuse(undefined);
    await refuse('no manifest');
  });

  it('lets a real pipeline replace the trial of another one, and no trial', async () => {
    const manifest = manifestOf({ pipeline: 'weekly', service: 'embedded:/state/service' });
    await refuse(manifest);
    await expect(refuse(manifest, true)).rejects.toMatchObject(refused);
  });

  it('is not misled by a text that looks like a key', async () => {
    const label = '\n  "pipeline": "nightly"';
    await expect(refuse(manifestOf({ label, pipeline: 'weekly' }))).rejects.toMatchObject(refused);
  });
});

describe('refuseOverPaid', () => {
  const refuseRehearsal = (manifest: string | undefined) =>
    refuseOverPaid(
      { read: async () => (manifest === undefined ? undefined : Buffer.from(manifest)) },
      'out.csv',
      'r2',
    );

  it('lets a rehearsal replace no output that was paid for, complete or not', async () => {
    for (const status of ['SUCCESS', 'PARTIAL']) {
      await expect(refuseRehearsal(manifestOf({ publication: 7, status }))).rejects.toMatchObject({
        code: 'OUTPUT_PAID_FOR',
        exitCode: 2,
        message: expect.stringContaining('out.csv is publication 7'),
        hint: expect.stringContaining('foliopipe publish r2 --output FILE'),
      });
    }
  });

  it('lets it replace a rehearsal, and what has no manifest', async () => {
    await refuseRehearsal(manifestOf({ publication: 7, status: 'REHEARSAL' }));
    await refuseRehearsal(undefined);
  });
});
