/** The journals of a state folder: when one is written again, and what becomes of a line when its journal is gone. */
import { rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { journalPath } from '../../../src/checkpoint/journal/journal-file.js';
import type { JournalLine } from '../../../src/checkpoint/journal/journal-line.js';
import { openRunJournals, type RunJournals } from '../../../src/checkpoint/journal/run-journals.js';
import { openWritingConnection } from '../../../src/checkpoint/sqlite/open-connection.js';
import { checkpointChanges } from '../../../src/checkpoint/sqlite/open-sqlite-checkpoint.js';
import { createStateDatabase } from '../../../src/checkpoint/sqlite/state-database.js';
import type { NewChunk } from '../../../src/checkpoint/state.js';
import { sampleChunk, sampleHalves, sampleRun } from '../../helpers/checkpoint/samples.js';
import { useFolder } from '../../helpers/folders/folders.js';

const folder = useFolder();

/** Calls `use` with the changes of a database that knows the run r1, and the journals beside it. */
async function withJournals(
  use: (
    changes: ReturnType<typeof checkpointChanges>,
    journals: RunJournals,
    stateDir: string,
  ) => Promise<void>,
): Promise<void> {
  const stateDir = await folder();
  const db = createStateDatabase(await openWritingConnection(join(stateDir, 'checkpoint.db')));
  const journals = openRunJournals(stateDir, db);
  try {
    const changes = checkpointChanges(db);
    await changes.recordRun(sampleRun('r1'));
    journals.rewrite('r1');
    await use(changes, journals, stateDir);
  } finally {
    await journals.close();
    await db.close();
  }
}

it('a journal that is gone is written again, and holds what only a journal can record', () =>
  withJournals(async (_, journals, stateDir) => {
    journals.append('r1', { type: 'all-cut' });
    rmSync(journalPath(stateDir, 'r1'));
    // The database could not record this reply.
    const reply = { folio: 'F-1', serviceRecords: 1, rehearsal: false, at: 7 };
    await journals.appendDurably('r1', { type: 'accepted', chunk: 1, attempt: 1, ...reply });
    const types = [...journals.lines('r1')].map(({ type }) => type);
    expect(types).toEqual(['run', 'accepted']);
  }));

it('a journal that tells of free changes that its database does not know is written again, once', () =>
  withJournals(async (changes, journals, stateDir) => {
    const chunk = sampleChunk(1);
    const cut = (number: number, { picked: _, ...span }: NewChunk): JournalLine => {
      return { type: 'cut', chunk: number, round: 0, ...span, numbers: null };
    };
    const halves = sampleHalves(chunk).map((half, at) => cut(at + 2, half));
    await changes.recordCut('r1', chunk);
    // The database was put back from a copy: what it lost since then cost nothing.
    const lost: readonly (readonly JournalLine[])[] = [
      [{ type: 'split', chunk: 1 }, ...halves],
      [{ type: 'unprocessed', chunk: 1, cause: 'AMBIGUOUS_HELD' }],
      [cut(2, sampleChunk(2))],
      [{ type: 'all-cut' }],
    ];
    for (const lines of lost) {
      journals.rewrite('r1');
      for (const line of lines) journals.append('r1', line);
      expect(journals.verify('r1')).toBe('whole');
      expect([...journals.lines('r1')].map(({ type }) => type)).toEqual(['run', 'cut']);
      const { ino } = statSync(journalPath(stateDir, 'r1'));
      expect(journals.verify('r1')).toBe('whole');
      expect(statSync(journalPath(stateDir, 'r1')).ino).toBe(ino);
    }
  }));
