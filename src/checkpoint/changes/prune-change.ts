/** Forgets what a finished run holds of its results; what it paid for stays known. */
import type { Checkpoint } from '../checkpoint.js';
import type { StateDatabase } from '../state-database.js';
import { expectOne } from './expect-one.js';

/** Makes `recordPruned`. */
export function pruneChange(db: StateDatabase): Pick<Checkpoint, 'recordPruned'> {
  const prune = db.prepare(`
    UPDATE runs SET pruned_at = @at
    WHERE id = @run AND state IN ('done', 'superseded') AND pruned_at IS NULL`);
  const forget = [
    ...['parts', 'picked_records', 'chunks'].map((table) => `DELETE FROM ${table} WHERE run = @run`),
    'UPDATE searches SET "values" = NULL WHERE run = @run',
  ].map((sql) => db.prepare(sql));

  return {
    recordPruned: db.change((run: string, at: number) => {
      const missing = `no run ${run} that is done or superseded and keeps its results`;
      expectOne(prune.run({ run, at }), 'recordPruned', missing);
      for (const statement of forget) statement.run({ run });
    }),
  };
}
