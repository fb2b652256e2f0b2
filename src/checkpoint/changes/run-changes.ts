/** Begin of a run, its source under a new stamp, and its end without a publication. */
import type { Source } from '../../types.js';
import type { Checkpoint, NewRun } from '../checkpoint.js';
import type { StateDatabase } from '../state-database.js';
import { expectOne } from './expect-one.js';

/** Makes `recordRun`, `recordSourceStamp` and `recordSuperseded`. */
export function runChanges(
  db: StateDatabase,
): Pick<Checkpoint, 'recordRun' | 'recordSourceStamp' | 'recordSuperseded'> {
  const insertRun = db.prepare(`
    INSERT INTO runs (id, pipeline, service, label, source, frozen, canary, created_at, state)
    VALUES (@id, @pipeline, @service, @label, @source, @frozen, @canary, @createdAt, 'open')
    ON CONFLICT (id) DO NOTHING`);
  const replaceSource = db.prepare(`
    UPDATE runs SET source = @source
    WHERE id = @run AND state <> 'superseded' AND source ->> 'sha256' = @sha256`);
  const supersede = db.prepare(`
    UPDATE runs SET state = 'superseded', finished_at = @at
    WHERE id = @run AND state IN ('open', 'publishing')`);

  return {
    recordRun: db.change((run: NewRun) => {
      const { id, pipeline, service, label, canary, createdAt } = run;
      const source = JSON.stringify(run.source);
      const frozen = JSON.stringify(run.frozen);
      const inserted = insertRun.run({ id, pipeline, service, label, source, frozen, canary, createdAt });
      expectOne(inserted, 'recordRun', `run ${id} exists already`);
    }),
    recordSourceStamp: db.change((run: string, source: Source) => {
      const replaced = replaceSource.run({ run, source: JSON.stringify(source), sha256: source.sha256 });
      expectOne(replaced, 'recordSourceStamp', `no run ${run} of a source with this content`);
    }),
    recordSuperseded: db.change((run: string, at: number) => {
      expectOne(supersede.run({ run, at }), 'recordSuperseded', `no run ${run} that is open or publishing`);
    }),
  };
}
