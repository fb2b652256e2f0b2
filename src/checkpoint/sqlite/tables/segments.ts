/** The segments of bought answers that later runs may take. Their content is in the answer store. */
import type { Segment } from '../../../types.js';
import type { Checkpoint } from '../../checkpoint.js';
import type { StateDatabase } from '../state-database.js';

/**
 * Prepares the insertion of a segment, which replaces an older one of the same run. Must be called within a transaction.
 */
export function segmentInsertion(db: StateDatabase): (segment: Segment) => void {
  const forgetRun = db.prepare('DELETE FROM segments WHERE run = ?');
  const insert = db.prepare(`
    INSERT INTO segments (id, run, newest, segment) VALUES (@id, @run, @newest, @segment)`);
  return (segment) => {
    const { id, run, newest } = segment;
    forgetRun.run(run);
    insert.run({ id, run, newest, segment: JSON.stringify(segment) });
  };
}

/** Makes `recordSegment` and `recordSegmentsForgotten`. */
export function segmentChanges(
  db: StateDatabase,
): Pick<Checkpoint, 'recordSegment' | 'recordSegmentsForgotten'> {
  const insert = segmentInsertion(db);
  const forget = db.prepare('DELETE FROM segments WHERE id = ?');
  return {
    recordSegment: db.change((segment, replaced) => {
      if (replaced !== undefined && forget.run(replaced).changes === 0) return false;
      insert(segment);
      return true;
    }),
    recordSegmentsForgotten: db.change((ids) => {
      for (const id of ids) forget.run(id);
    }),
  };
}
