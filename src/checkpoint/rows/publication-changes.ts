/**
 * The publication of a run: it is being put in place, is in place, is loaded, is confirmed instead, is withheld, or is
 * undone to be written again (rule "A file appears whole", docs/architecture.md#a-file-appears-whole).
 */
import type { Segment } from '../../types.js';
import type { Checkpoint, Publication, Run } from '../checkpoint.js';
import { type Asked, ask, askForRow, type Change, type MakeChange } from './change.js';
import { UNMERGE } from './chunk-rows.js';
import { numberOfSame, type RunRow } from './run-row.js';

const PUBLISHABLE = `
  SELECT pipeline, state, publication, frozen FROM runs
  WHERE id = @run AND state IN ('open', 'publishing', 'done', 'withheld') AND pruned_at IS NULL`;
const NEXT_NUMBER =
  'SELECT coalesce(max(number), 0) + 1 AS number FROM publications WHERE pipeline = @pipeline';
const ADD_FILE = `
  INSERT INTO publications (pipeline, number, run, path, bytes, sha256)
  VALUES (@pipeline, @number, @run, @path, @bytes, @sha256)`;
const PUBLISH = `
  UPDATE runs SET state = 'publishing', publication = @publication, withheld = NULL, confirmed = NULL,
    frozen = @frozen
  WHERE id = @run`;
const PUBLISHING = "SELECT pipeline, publication FROM runs WHERE id = @run AND state = 'publishing'";
const STAMP_FILE = `
  UPDATE publications SET stamp = @stamp, night = @night WHERE pipeline = @pipeline AND number = @number`;
const FINISH = `
  UPDATE runs SET state = 'done', partial = NULL, finished_at = @at
  WHERE id = @run AND state = 'publishing' RETURNING id`;
const WITHHOLD = `
  UPDATE runs SET state = 'withheld', withheld = @withheld, finished_at = @at
  WHERE id = @run AND state IN ('open', 'withheld') AND pruned_at IS NULL RETURNING id`;
const CONFIRM = `
  UPDATE runs SET state = 'done', confirmed = @confirmed, withheld = NULL, partial = NULL, finished_at = @at
  WHERE id = @run AND state IN ('open', 'withheld') AND pruned_at IS NULL RETURNING id`;
/** Opens a run again, as if it had not ended. */
export const OPEN_AGAIN = `
  UPDATE runs SET state = 'open', publication = NULL, withheld = NULL, confirmed = NULL, finished_at = NULL
  WHERE id = @run`;
const UNPUBLISH = `${OPEN_AGAIN} AND pruned_at IS NULL AND state = 'publishing' RETURNING id`;
const REOPEN = `${OPEN_AGAIN} AND pruned_at IS NULL AND state IN ('done', 'withheld') RETURNING id`;
const KEEP_PARTIAL = "UPDATE runs SET partial = publication WHERE id = @run AND state = 'publishing'";
const REPLACE_LOAD = `
  INSERT INTO loads (run, load) SELECT id, CAST(@load AS TEXT) FROM runs WHERE id = @run
  ON CONFLICT (run) DO UPDATE SET load = excluded.load RETURNING run`;
const REPLACE_UPLOAD = `
  INSERT INTO output_uploads (name, upload) VALUES (@name, @upload)
  ON CONFLICT (name) DO UPDATE SET upload = excluded.upload`;
const FORGET_UPLOAD = 'DELETE FROM output_uploads WHERE name = @name';
const ADD_SEGMENT = `
  INSERT INTO segments (id, run, newest, segment) VALUES (@id, @run, @newest, @segment)`;
const REPLACE_SEGMENT = 'DELETE FROM segments WHERE run = @run';
const FORGET_SEGMENT = 'DELETE FROM segments WHERE id = @id RETURNING id';

type PublishableRow = Pick<RunRow, 'pipeline' | 'state' | 'publication' | 'frozen'>;
type PublishingRow = Pick<RunRow, 'pipeline' | 'publication'>;

type PublicationChange =
  | 'recordPublishing'
  | 'recordDone'
  | 'recordLoad'
  | 'recordOutputUpload'
  | 'recordWithheld'
  | 'recordConfirmed'
  | 'recordUnpublished'
  | 'recordReopened'
  | 'recordSegment'
  | 'recordSegmentsForgotten';

/** Makes the changes of the publication, of its upload to an output store, and of the segments of bought answers. */
export function publicationChanges(make: MakeChange): Pick<Checkpoint, PublicationChange> {
  return {
    recordPublishing: make(function* (run, file, values = {}, above = 0) {
      const missing = `no run ${run} that is open, publishing, done or withheld and keeps its results`;
      const row = yield* askForRow<PublishableRow>(PUBLISHABLE, { run }, 'recordPublishing', missing);
      const { pipeline } = row;
      const same = numberOfSame(row, file);
      const [next] = yield* ask<{ number: number }>(NEXT_NUMBER, { pipeline });
      const number = same ?? Math.max(next!.number, above + 1);
      const { bytes, sha256, output } = file;
      if (same === undefined) {
        yield* ask(ADD_FILE, { pipeline, number, run, path: output.path, bytes, sha256 });
      }
      const publication = { ...file, number };
      const frozen = JSON.stringify({ ...(JSON.parse(row.frozen) as Run['frozen']), ...values });
      yield* ask(PUBLISH, { run, publication: JSON.stringify(publication), frozen });
      return publication;
    }),
    recordDone: make(function* (run, at, stamp, segment) {
      const { pipeline, number, night, partial } = yield* publishing('recordDone', run);
      const facts = night === undefined ? null : JSON.stringify(night);
      yield* ask(STAMP_FILE, { pipeline, number, stamp: stamp ?? null, night: facts });
      if (partial) {
        yield* ask(KEEP_PARTIAL, { run });
        yield* end('recordDone', UNPUBLISH, { run }, segment);
      } else yield* end('recordDone', FINISH, { run, at }, segment);
    }),
    recordLoad: make(function* (run, load) {
      yield* askForRow(REPLACE_LOAD, { run, load: JSON.stringify(load) }, 'recordLoad', `no run ${run}`);
    }),
    recordOutputUpload: make(function* (name, upload) {
      if (upload === null) yield* ask(FORGET_UPLOAD, { name });
      else yield* ask(REPLACE_UPLOAD, { name, upload });
    }),
    recordWithheld: make((run, withheld, at, segment) =>
      end('recordWithheld', WITHHOLD, { run, at, withheld: JSON.stringify(withheld) }, segment),
    ),
    recordConfirmed: make((run, confirmed, at, segment) =>
      end('recordConfirmed', CONFIRM, { run, at, confirmed: JSON.stringify(confirmed) }, segment),
    ),
    recordUnpublished: make(function* (run) {
      const { partial } = yield* publishing('recordUnpublished', run);
      yield* askForRow(UNPUBLISH, { run }, 'recordUnpublished', `no run ${run} that keeps its results`);
      if (!partial) yield* ask(UNMERGE, { run, fromRecord: 1 });
    }),
    recordReopened: make(function* (run) {
      const missing = `no run ${run} that is done or withheld and keeps its results`;
      yield* askForRow(REOPEN, { run }, 'recordReopened', missing);
    }),
    recordSegment: make(function* (segment, replaced) {
      if (replaced !== undefined && (yield* ask(FORGET_SEGMENT, { id: replaced })).length === 0) return false;
      yield* addSegment(segment);
      return true;
    }),
    recordSegmentsForgotten: make(function* (ids) {
      for (const id of ids) yield* ask(FORGET_SEGMENT, { id });
    }),
  };
}

/** The publication that is being put in place. */
function* publishing(method: string, run: string): Change<Publication & { readonly pipeline: string }> {
  const missing = `no run ${run} that is publishing`;
  const { pipeline, publication } = yield* askForRow<PublishingRow>(PUBLISHING, { run }, method, missing);
  return { ...(JSON.parse(publication!) as Publication), pipeline };
}

/** Ends a run together with its segment. */
function* end(
  method: string,
  sql: string,
  values: Asked['values'],
  segment: Segment | undefined,
): Change<void> {
  const missing = `no run ${values.run} that is open or withheld and keeps its results`;
  yield* askForRow(sql, values, method, missing);
  if (segment !== undefined) yield* addSegment(segment);
}

/** Adds a segment, which replaces an older one of the same run. Its content is in the answer store. */
export function* addSegment(segment: Segment): Change<void> {
  const { id, run, newest } = segment;
  yield* ask(REPLACE_SEGMENT, { run });
  yield* ask(ADD_SEGMENT, { id, run, newest, segment: JSON.stringify(segment) });
}
