/** Removes a checkpoint, rebuilds it from its journals, and expects that it knows all that was paid. */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import { recover } from '../../../pipelines/index.js';
import { openSqliteCheckpoint } from '../../../src/checkpoint/sqlite/open-sqlite-checkpoint.js';
import { openSqlite } from '../../../src/sqlite-driver.js';
import { loseDatabase } from './killed-state.js';

/**
 * Does so twice: from the journals as they were written, and from journals that are made only from the database.
 * @param stateDir of a checkpoint that is closed.
 */
export async function expectRecovered(stateDir: string): Promise<void> {
  // Whoever rebuilds knows that the process has ended.
  const before = paidFacts(stateDir, "CASE state WHEN 'intent' THEN 'ambiguous' ELSE state END");
  for (const isRewritten of [false, true]) {
    await verifyAll(stateDir, isRewritten);
    await loseDatabase(stateDir);
    if (before.runs.length === 0) return;
    const { runs } = await recover({ stateDir, pipeline: 'nightly' });
    expect(runs.filter(({ found }) => found !== 'rebuilt')).toEqual([]);
    expect(paidFacts(stateDir, 'state')).toEqual(before);
  }
}

async function verifyAll(stateDir: string, isRewritten: boolean): Promise<void> {
  const checkpoint = await openSqliteCheckpoint(stateDir);
  for (const { id } of await checkpoint.runs()) {
    if (isRewritten) await rm(join(stateDir, 'runs', id, 'paid.log'));
    expect(await checkpoint.verifyPaid(id)).toBe(isRewritten ? 'made' : 'whole');
  }
  await checkpoint.close();
}

/**
 * What a rebuilt checkpoint must know. Parts, source and work file are read again, so they are left out.
 * @param outcome SQL for the state of an upload or of a search.
 */
function paidFacts(stateDir: string, outcome: string) {
  const database = openSqlite(join(stateDir, 'checkpoint.db'), { readonly: true });
  const all = (sql: string) => database.prepare<[], Record<string, unknown>>(sql).all();
  const facts = {
    runs: all(`SELECT id, pipeline, service, label, frozen, canary, created_at, state, chunks, columns, round,
      rehearsal, mixed, publication, withheld, confirmed, finished_at, pruned_at FROM runs ORDER BY id`).map(
      (run) => ({
        ...run,
        publication: JSON.parse(String(run.publication)) as unknown,
        // A run that is being published again will get another time.
        finished_at: run.state === 'publishing' ? null : run.finished_at,
      }),
    ),
    chunks:
      all(`SELECT run, number, round, first_record, last_record, records, start_file, start_offset, end_file,
      end_offset, bytes, sha256, attempt, folio, submitted_at, cause, refusal, CASE
        WHEN state IN ('finished', 'downloaded') THEN 'submitted'
        WHEN state = 'uploading' THEN 'ambiguous' ELSE state END AS state
      FROM chunks ORDER BY run, number`),
    picked: all('SELECT run, chunk, hex(numbers) AS numbers FROM picked_records ORDER BY run, chunk'),
    uploads:
      all(`SELECT run, chunk, attempt, file_name, records, folio, service_records, started_at, day, ended_at,
      local, CASE WHEN state = 'intent' THEN 'no-reply' ELSE doubt END AS doubt,
      ${outcome} AS state FROM uploads ORDER BY run, chunk, attempt`),
    searches: all(`SELECT run, record, "values", started_at, day,
      ${outcome} AS state FROM searches ORDER BY run, record`),
    singles: all(`SELECT id, pipeline, service, local, started_at, day,
      ${outcome} AS state FROM single_searches
      WHERE state <> 'dropped' ORDER BY id`),
    spending: all('SELECT * FROM spending WHERE records <> 0 ORDER BY pipeline, day, run'),
  };
  database.close();
  return facts;
}
