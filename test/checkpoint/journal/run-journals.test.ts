/** The journals of a state folder: what becomes of a line when its journal is gone. */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { journalPath } from '../../../src/checkpoint/journal/journal-file.js';
import { openRunJournals } from '../../../src/checkpoint/journal/run-journals.js';
import { checkpointChanges } from '../../../src/checkpoint/sqlite/checkpoint-methods.js';
import { openWritingConnection } from '../../../src/checkpoint/sqlite/open-connection.js';
import { createStateDatabase } from '../../../src/checkpoint/sqlite/state-database.js';
import { sampleRun } from '../../helpers/checkpoint/samples.js';
import { useFolder } from '../../helpers/folders/folders.js';

const folder = useFolder();

it('a journal that is gone is written again, and holds what only a journal can record', async () => {
  const stateDir = await folder();
  const db = createStateDatabase(await openWritingConnection(join(stateDir, 'checkpoint.db')));
  const journals = openRunJournals(stateDir, db);
  try {
    await checkpointChanges(db).recordRun(sampleRun('r1'));
    journals.rewrite('r1');
    journals.append('r1', { type: 'all-cut' });
    rmSync(journalPath(stateDir, 'r1'));
    // The database could not record this reply.
    const reply = { folio: 'F-1', serviceRecords: 1, rehearsal: false, at: 7 };
    await journals.appendDurably('r1', { type: 'accepted', chunk: 1, attempt: 1, ...reply });
    const types = [...journals.lines('r1')].map(({ type }) => type);
    expect(types).toEqual(['run', 'accepted']);
  } finally {
    await journals.close();
    await db.close();
  }
});
