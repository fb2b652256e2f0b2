/**
 * Paid searches: for single failed records of a run, and those that belong to no run. The intent is committed before
 * the request (rule "Intent first", docs/architecture.md#intent-first). The process that has sent it records its
 * outcome, also after the lease has passed to another process.
 */
import type { Query } from '../../postgres/session.js';
import { type Prepared, statement } from '../../postgres/statement.js';
import type { Checkpoint } from '../checkpoint.js';
import { expectRow } from '../rows/change.js';
import { refuseOverBudget, spendRecords } from './spending.js';
import { intend, type StateSession } from './state-session.js';

const begin = statement(`
  INSERT INTO searches (run, record, state, started_at, day)
  SELECT id, @record::int8, 'intent', @at::int8, @day::text FROM runs WHERE id = @run AND state = 'open'
  ON CONFLICT (run, record) DO UPDATE
    SET state = 'intent', started_at = excluded.started_at, day = excluded.day
    WHERE searches.state = 'dropped'
  RETURNING record`);
// A process that has taken over has marked the search ambiguous, and may have ended or pruned the run.
const end: Prepared<{ day: string }> = statement(`
  UPDATE searches SET state = @state,
    "values" = CASE WHEN EXISTS (SELECT 1 FROM runs WHERE id = @run AND pruned_at IS NULL) THEN @values END
  WHERE run = @run AND record = @record
    AND (state = 'ambiguous' AND @isOurs::boolean
      OR state = 'intent' AND EXISTS (SELECT 1 FROM runs WHERE id = @run AND state = 'open'))
  RETURNING day`);
const known = statement(
  'SELECT 1 FROM searches WHERE run = @run AND record = @record AND state = @state AND @isOurs::boolean',
);
const intended = statement(
  "SELECT 1 FROM searches WHERE run = @run AND record = @record AND state = 'intent' AND started_at = @at",
);

const beginSingle = statement(`
  INSERT INTO single_searches (id, pipeline, service, state, started_at, day)
  VALUES (@id, @pipeline, @service, 'intent', @startedAt, @day) ON CONFLICT (id) DO NOTHING RETURNING id`);
const endSingle: Prepared<{ pipeline: string; service: string; day: string }> = statement(`
  UPDATE single_searches SET state = @state, local = @local WHERE id = @id AND state = 'intent'
  RETURNING pipeline, service, day`);
const knownSingle = statement(
  'SELECT 1 FROM single_searches WHERE id = @id AND state = @state AND @isOurs::boolean',
);

type SearchEnd = Parameters<Checkpoint['recordSearchEnd']>[2];
type SingleSearchEnd = Parameters<Checkpoint['recordSingleSearchEnd']>[1];
type SearchMethod =
  | 'recordSearchIntent'
  | 'recordSearchEnd'
  | 'recordSingleSearchIntent'
  | 'recordSingleSearchEnd';

/** Makes the changes of searches. */
export function searchChanges(db: StateSession): Pick<Checkpoint, SearchMethod> {
  /** The searches that this process has begun and that have not ended. */
  const asked = new Set<string>();
  const endSearch = async (query: Query, run: string, record: number, ended: SearchEnd, isOurs: boolean) => {
    const { state } = ended;
    const found = state === 'answered' ? ended.values : null;
    const values = found === null ? null : JSON.stringify(found);
    const [row] = await query(end, { run, record, state, values, isOurs });
    if (row !== undefined && state === 'dropped') await spendRecords(query, { run }, -1, row.day);
    return row;
  };
  const endSingleSearch = async (query: Query, id: string, ended: SingleSearchEnd) => {
    const { state } = ended;
    const local = state === 'answered' ? Number(ended.local) : null;
    const [row] = await query(endSingle, { id, state, local });
    if (row !== undefined && state === 'dropped') {
      const { day, ...payer } = row;
      await spendRecords(query, payer, -1, day);
    }
    return row;
  };

  return {
    recordSearchIntent: async (run, record, at, budget) => {
      const begun = () =>
        db.changes(async (query) => {
          const { day } = budget;
          const missing = `run ${run} is not open, or has asked for record ${record}`;
          const [row] = await query(begin, { run, record, at, day });
          expectRow(row, 'recordSearchIntent', missing);
          await refuseOverBudget(query, { run }, 1, budget);
          await spendRecords(query, { run }, 1, day);
        });
      await intend(db, begun, async (query) => {
        const [found] = await query(intended, { run, record, at });
        if (found !== undefined) await endSearch(query, run, record, { state: 'dropped' }, false);
      });
      asked.add(`${run} ${record}`);
    },
    recordSearchEnd: async (run, record, ended) => {
      const isOurs = asked.has(`${run} ${record}`);
      await db.outcome(async (query) => {
        if ((await endSearch(query, run, record, ended, isOurs)) !== undefined) return;
        // The same was recorded before the connection was lost.
        const [row] = await query(known, { run, record, state: ended.state, isOurs });
        expectRow(row, 'recordSearchEnd', `run ${run} is not asking for record ${record}`);
      });
      asked.delete(`${run} ${record}`);
    },
    recordSingleSearchIntent: async ({ id, pipeline, service, startedAt }, budget) => {
      const begun = () =>
        db.changes(async (query) => {
          const { day } = budget;
          const [row] = await query(beginSingle, { id, pipeline, service, startedAt, day });
          expectRow(row, 'recordSingleSearchIntent', `there is a search ${id} already`);
          await refuseOverBudget(query, { pipeline, service }, 1, budget);
          await spendRecords(query, { pipeline, service }, 1, day);
        });
      await intend(db, begun, async (query) => {
        await endSingleSearch(query, id, { state: 'dropped' });
      });
      asked.add(id);
    },
    recordSingleSearchEnd: async (id, ended) => {
      const isOurs = asked.has(id);
      await db.outcome(async (query) => {
        if ((await endSingleSearch(query, id, ended)) !== undefined) return;
        const [row] = await query(knownSingle, { id, state: ended.state, isOurs });
        expectRow(row, 'recordSingleSearchEnd', `search ${id} is not being asked`);
      });
      asked.delete(id);
    },
  };
}
