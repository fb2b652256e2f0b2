/** The segments of bought answers that later runs may take. Their content is in the answer store. */
import type { Query } from '../../postgres/session.js';
import { type Prepared, statement } from '../../postgres/statement.js';
import type { Segment } from '../../types.js';
import type { Checkpoint, CheckpointReader } from '../checkpoint.js';
import type { StateSession } from './state-session.js';

const forgetRun = statement('DELETE FROM segments WHERE run = @run');
const insert = statement(`
  INSERT INTO segments (id, run, newest, segment) VALUES (@id, @run, @newest, @segment)`);
const forget: Prepared<{ id: string }> = statement('DELETE FROM segments WHERE id = @id RETURNING id');
const all: Prepared<{ segment: string }> = statement(
  'SELECT segment FROM segments ORDER BY newest DESC, id DESC',
);

/** Adds a segment, which replaces an older one of the same run, within a transaction. */
export async function addSegment(query: Query, segment: Segment): Promise<void> {
  const { id, run, newest } = segment;
  await query(forgetRun, { run });
  await query(insert, { id, run, newest, segment: JSON.stringify(segment) });
}

/** Makes `recordSegment` and `recordSegmentsForgotten`. */
export function segmentChanges(
  db: StateSession,
): Pick<Checkpoint, 'recordSegment' | 'recordSegmentsForgotten'> {
  return {
    recordSegment: (segment, replaced) =>
      db.changes(async (query) => {
        if (replaced !== undefined && (await query(forget, { id: replaced })).length === 0) return false;
        await addSegment(query, segment);
        return true;
      }),
    recordSegmentsForgotten: (ids) =>
      db.changes(async (query) => {
        for (const id of ids) await query(forget, { id });
      }),
  };
}

/** Makes `segments`. Those that are equally new are ordered by their ids, which begin with a time. */
export function segmentReads(db: StateSession): Pick<CheckpointReader, 'segments'> {
  return {
    segments: async () => (await db.read(all, {})).map(({ segment }) => JSON.parse(segment) as Segment),
  };
}
