/** Runs that are rebuilt from their journals beside runs that stay as they are. */
import { expect, it } from 'vitest';
import { journalPath, readJournal } from '../../../src/checkpoint/journal/journal-file.js';
import { rebuildRun } from '../../../src/checkpoint/recovery/rebuild-run.js';
import { openRecoveredDatabase } from '../../../src/checkpoint/recovery/recovered-database.js';
import { openSqliteCheckpoint } from '../../../src/checkpoint/sqlite/open-sqlite-checkpoint.js';
import { sampleRun } from '../../helpers/checkpoint/samples.js';
import { useFolder } from '../../helpers/folders/folders.js';

const folder = useFolder();
const { pipeline, service } = sampleRun('r1');

it.each([[['r2']], [['r1']], [['r1', 'r2']]])(
  'the pipeline knows the columns of its newest run: %j rebuilt',
  async (rebuilt) => {
    const stateDir = await folder();
    const checkpoint = await openSqliteCheckpoint(stateDir);
    for (const [at, run] of ['r1', 'r2'].entries()) {
      await checkpoint.recordRun(sampleRun(run, { createdAt: 1_000 + at }));
      await checkpoint.recordColumns(run, ['code', run], true);
    }
    await checkpoint.close();
    const database = openRecoveredDatabase(stateDir);
    for (const run of rebuilt) {
      await database.put(rebuildRun(readJournal(journalPath(stateDir, run))), new Map());
    }
    await database.putInPlace(5_000);
    const again = await openSqliteCheckpoint(stateDir);
    expect(await again.knownColumns(pipeline, service)).toEqual(['code', 'r2']);
    await again.close();
  },
);
