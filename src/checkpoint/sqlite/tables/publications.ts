/**
 * The publication of a run: it is being put in place, is in place, is loaded, is confirmed instead, is withheld, or is
 * undone to be written again (rule "A file appears whole", docs/architecture.md#a-file-appears-whole).
 */
import type { Segment } from '../../../types.js';
import type { PublicationChanges } from '../../change-groups.js';
import type { Checkpoint } from '../../checkpoint.js';
import { UNMERGE } from '../../rows/chunk-rows.js';
import { numberOfSame, type RunRow } from '../../rows/run-row.js';
import { expectOneRow, expectRow, type StateDatabase } from '../state-database.js';

/** Makes the changes of the publication, and what is kept of its upload to an output store. */
export function publicationChanges(db: StateDatabase): PublicationChanges {
  const publishable = db.prepare<[string], Pick<RunRow, 'pipeline' | 'state' | 'publication'>>(`
    SELECT pipeline, state, publication FROM runs
    WHERE id = ? AND state IN ('open', 'publishing', 'done', 'withheld') AND pruned_at IS NULL`);
  const nextNumber = db
    .prepare<[string], number>('SELECT coalesce(max(number), 0) + 1 FROM publications WHERE pipeline = ?')
    .pluck();
  const addFile = db.prepare(`
    INSERT INTO publications (pipeline, number, run, path, bytes, sha256)
    VALUES (@pipeline, @number, @run, @path, @bytes, @sha256)`);
  const publish = db.prepare(`
    UPDATE runs SET state = 'publishing', publication = @publication, withheld = NULL, confirmed = NULL,
      frozen = json_patch(frozen, @frozen)
    WHERE id = @run`);
  const stampFile = db.prepare(`
    UPDATE publications SET stamp = @stamp,
      night = (SELECT publication ->> 'night' FROM runs WHERE id = @run)
    WHERE (pipeline, number) =
      (SELECT pipeline, publication ->> 'number' FROM runs WHERE id = @run AND state = 'publishing')`);
  const isPartial = db
    .prepare<[{ run: string }], number>(
      "SELECT publication ->> 'partial' FROM runs WHERE id = @run AND state = 'publishing'",
    )
    .pluck();
  const finish = db.prepare(`
    UPDATE runs SET state = 'done', partial = NULL, finished_at = @at WHERE id = @run AND state = 'publishing'`);
  const withhold = db.prepare(`
    UPDATE runs SET state = 'withheld', withheld = @withheld, finished_at = @at
    WHERE id = @run AND state IN ('open', 'withheld') AND pruned_at IS NULL`);
  const confirm = db.prepare(`
    UPDATE runs SET state = 'done', confirmed = @confirmed, withheld = NULL, partial = NULL, finished_at = @at
    WHERE id = @run AND state IN ('open', 'withheld') AND pruned_at IS NULL`);
  const open = `UPDATE runs SET state = 'open', publication = NULL, withheld = NULL, confirmed = NULL, finished_at = NULL
    WHERE id = @run AND pruned_at IS NULL`;
  const keepPartial = db.prepare(
    "UPDATE runs SET partial = publication WHERE id = @run AND state = 'publishing'",
  );
  const unpublish = db.prepare(`${open} AND state = 'publishing'`);
  const reopen = db.prepare(`${open} AND state IN ('done', 'withheld')`);
  const replaceLoad = db.prepare(`
    INSERT INTO loads (run, load) SELECT id, @load FROM runs WHERE id = @run
    ON CONFLICT (run) DO UPDATE SET load = excluded.load`);
  const begunUpload = db
    .prepare<[string], string>('SELECT upload FROM output_uploads WHERE name = ?')
    .pluck();
  const replaceUpload = db.prepare(`
    INSERT INTO output_uploads (name, upload) VALUES (@name, @upload)
    ON CONFLICT (name) DO UPDATE SET upload = excluded.upload`);
  const forgetUpload = db.prepare('DELETE FROM output_uploads WHERE name = ?');
  const unmerge = db.prepare(UNMERGE);
  const addSegment = segmentInsertion(db);

  return {
    recordPublishing: db.change((run, file, values = {}, above = 0) => {
      const missing = `no run ${run} that is open, publishing, done or withheld and keeps its results`;
      const row = expectRow(publishable.get(run), 'recordPublishing', missing);
      const { pipeline } = row;
      const same = numberOfSame(row, file);
      const number = same ?? Math.max(nextNumber.get(pipeline)!, above + 1);
      const { bytes, sha256, output } = file;
      if (same === undefined) addFile.run({ pipeline, number, run, path: output.path, bytes, sha256 });
      const publication = { ...file, number };
      publish.run({ run, publication: JSON.stringify(publication), frozen: JSON.stringify(values) });
      return publication;
    }),
    recordDone: db.change((run, at, stamp, segment) => {
      stampFile.run({ run, stamp: stamp ?? null });
      if (segment !== undefined) addSegment(segment);
      const partial = isPartial.get({ run });
      if (partial) keepPartial.run({ run });
      const ended = partial ? unpublish.run({ run }) : finish.run({ run, at });
      expectOneRow(ended, 'recordDone', `no run ${run} that is publishing`);
    }),
    recordLoad: db.change((run, load) => {
      expectOneRow(replaceLoad.run({ run, load: JSON.stringify(load) }), 'recordLoad', `no run ${run}`);
    }),
    outputUpload: db.read((name) => begunUpload.get(name)),
    recordOutputUpload: db.change((name, upload) => {
      if (upload === null) forgetUpload.run(name);
      else replaceUpload.run({ name, upload });
    }),
    recordWithheld: db.change((run, withheld, at, segment) => {
      const held = withhold.run({ run, at, withheld: JSON.stringify(withheld) });
      expectOneRow(held, 'recordWithheld', `no run ${run} that is open or withheld and keeps its results`);
      if (segment !== undefined) addSegment(segment);
    }),
    recordConfirmed: db.change((run, confirmed, at, segment) => {
      const ended = confirm.run({ run, at, confirmed: JSON.stringify(confirmed) });
      expectOneRow(ended, 'recordConfirmed', `no run ${run} that is open or withheld and keeps its results`);
      if (segment !== undefined) addSegment(segment);
    }),
    recordUnpublished: db.change((run) => {
      const partial = isPartial.get({ run });
      const reopened = unpublish.run({ run });
      expectOneRow(reopened, 'recordUnpublished', `no run ${run} that is publishing`);
      if (!partial) unmerge.run({ run, fromRecord: 1 });
    }),
    recordReopened: db.change((run) => {
      const reopened = reopen.run({ run });
      const missing = `no run ${run} that is done or withheld and keeps its results`;
      expectOneRow(reopened, 'recordReopened', missing);
    }),
  };
}

// The segments of bought answers that later runs may take. Their content is in the answer store.

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
