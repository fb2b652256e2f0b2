/** The mark of a restored state, and how a person confirms what it says. */
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { markRestored, markRestoring, refuseUnconfirmed } from '../../../src/run/backup/restored-mark.js';
import { withFolder } from '../../helpers/folders/folders.js';

const pipelines = ['north', 'south', 'west'];

it('is confirmed for pipelines at the same time, and by whole names only', () =>
  withFolder(async (stateDir) => {
    await markRestoring(stateDir, { restoredAt: 2, backupAt: 1, unfinished: 'backup' });
    await markRestored(stateDir, false);
    const confirm = (pipeline: string) => refuseUnconfirmed({ stateDir, pipeline }, { yes: true });
    const check = (pipeline: string) => refuseUnconfirmed({ stateDir, pipeline }, {});

    // As after a kill in the middle of a confirmation.
    appendFileSync(join(stateDir, 'restored.json'), '\n"east');
    await Promise.all(pipelines.map(confirm));
    for (const pipeline of pipelines) await check(pipeline);
    for (const pipeline of ['east', 'eas', 'sou']) {
      await expect(check(pipeline)).rejects.toMatchObject({ code: 'RESTORED_UNCONFIRMED' });
    }
  }));
