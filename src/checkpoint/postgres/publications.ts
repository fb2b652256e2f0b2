/**
 * The publication of a run: it is being put in place, is in place, is loaded, is confirmed instead, is withheld, or is
 * undone to be written again (rule "A file appears whole", docs/architecture.md#a-file-appears-whole).
 */
import { fenced, HELD } from '../../postgres/fenced.js';
import type { Query } from '../../postgres/session.js';
import { type Prepared, statement } from '../../postgres/statement.js';
import type { Segment } from '../../types.js';
import type { PublicationChanges } from '../change-groups.js';
import type { Checkpoint, Run } from '../checkpoint.js';
import { numberOfSame, type RunRow } from '../rows/run-row.js';
import { unmerge } from './merges.js';
import { expectRow, type StateSession } from './state-session.js';

const publishable: Prepared<Pick<RunRow, 'pipeline' | 'state' | 'publication' | 'frozen'>> = statement(`
  SELECT pipeline, state, publication, frozen FROM runs
  WHERE id = @run AND state IN ('open', 'publishing', 'done', 'withheld') AND pruned_at IS NULL FOR UPDATE`);
const nextNumber: Prepared<{ number: number }> = statement(
  'SELECT coalesce(max(number), 0) + 1 AS number FROM publications WHERE pipeline = @pipeline',
);
const addFile = statement(`
  INSERT INTO publications (pipeline, number, run, path, bytes, sha256)
  VALUES (@pipeline, @number, @run, @path, @bytes, @sha256)`);
const publish = statement(`
  UPDATE runs SET state = 'publishing', publication = @publication, withheld = NULL, confirmed = NULL,
    frozen = @frozen
  WHERE id = @run`);
const stampFile = statement(`
  UPDATE publications SET stamp = @stamp, night = (runs.publication::jsonb -> 'night')::text
  FROM runs
  WHERE runs.id = @run AND runs.state = 'publishing' AND publications.pipeline = runs.pipeline
    AND publications.number = (runs.publication::jsonb ->> 'number')::int8`);
const isPartial: Prepared<{ partial: boolean }> = statement(`
  SELECT coalesce((publication::jsonb ->> 'partial')::boolean, false) AS partial FROM runs
  WHERE id = @run AND state = 'publishing'`);
const finish = statement(`
  UPDATE runs SET state = 'done', partial = NULL, finished_at = @at
  WHERE id = @run AND state = 'publishing' RETURNING id`);
const withhold = statement(`
  UPDATE runs SET state = 'withheld', withheld = @withheld, finished_at = @at
  WHERE id = @run AND state IN ('open', 'withheld') AND pruned_at IS NULL RETURNING id`);
const confirm = statement(`
  UPDATE runs SET state = 'done', confirmed = @confirmed, withheld = NULL, partial = NULL, finished_at = @at
  WHERE id = @run AND state IN ('open', 'withheld') AND pruned_at IS NULL RETURNING id`);
const OPEN = `
  UPDATE runs SET state = 'open', publication = NULL, withheld = NULL, confirmed = NULL, finished_at = NULL
  WHERE id = @run AND pruned_at IS NULL`;
const keepPartial = statement(
  "UPDATE runs SET partial = publication WHERE id = @run AND state = 'publishing'",
);
const unpublish = statement(`${OPEN} AND state = 'publishing' RETURNING id`);
const reopen = fenced(`
  opened AS (${OPEN} AND state IN ('done', 'withheld') AND ${HELD} RETURNING id) SELECT id FROM opened`);
const replaceLoad = fenced(`
  kept AS (
    INSERT INTO loads (run, load) SELECT id, @load::text FROM runs WHERE id = @run AND ${HELD}
    ON CONFLICT (run) DO UPDATE SET load = excluded.load RETURNING run)
  SELECT run FROM kept`);
const replaceUpload = statement(`
  INSERT INTO output_uploads (name, upload) VALUES (@name, @upload)
  ON CONFLICT (name) DO UPDATE SET upload = excluded.upload`);
const forgetUpload = statement('DELETE FROM output_uploads WHERE name = @name');
const begunUpload: Prepared<{ upload: string }> = statement(
  'SELECT upload FROM output_uploads WHERE name = @name',
);

/** Makes the changes of the publication, and what is kept of its upload to an output store. */
export function publicationChanges(db: StateSession): PublicationChanges {
  /** Ends a run together with its segment. */
  const ended = (
    method: keyof PublicationChanges,
    end: Prepared<unknown>,
    values: { readonly run: string; readonly [name: string]: string | number },
    segment: Segment | undefined,
  ) =>
    db.changes(async (query) => {
      const missing = `no run ${values.run} that is open or withheld and keeps its results`;
      expectRow(await query(end, values), method, missing);
      if (segment !== undefined) await addSegment(query, segment);
    });

  return {
    recordPublishing: (run, file, values = {}, above = 0) =>
      db.changes(async (query) => {
        const missing = `no run ${run} that is open, publishing, done or withheld and keeps its results`;
        const row = expectRow(await query(publishable, { run }), 'recordPublishing', missing);
        const { pipeline } = row;
        const same = numberOfSame(row, file);
        const number = same ?? Math.max((await query(nextNumber, { pipeline }))[0]!.number, above + 1);
        const { bytes, sha256, output } = file;
        if (same === undefined)
          await query(addFile, { pipeline, number, run, path: output.path, bytes, sha256 });
        const publication = { ...file, number };
        const frozen = JSON.stringify({ ...(JSON.parse(row.frozen) as Run['frozen']), ...values });
        await query(publish, { run, publication: JSON.stringify(publication), frozen });
        return publication;
      }),
    recordDone: (run, at, stamp, segment) =>
      db.changes(async (query) => {
        const missing = `no run ${run} that is publishing`;
        const [row] = await query(isPartial, { run });
        await query(stampFile, { run, stamp: stamp ?? null });
        if (segment !== undefined) await addSegment(query, segment);
        if (row?.partial === true) await query(keepPartial, { run });
        const end = row?.partial === true ? query(unpublish, { run }) : query(finish, { run, at });
        expectRow(await end, 'recordDone', missing);
      }),
    recordLoad: async (run, load) => {
      await db.change(replaceLoad, { run, load: JSON.stringify(load) }, 'recordLoad', `no run ${run}`);
    },
    outputUpload: async (name) => (await db.read(begunUpload, { name }))[0]?.upload,
    recordOutputUpload: (name, upload) =>
      db.changes(async (query) => {
        if (upload === null) await query(forgetUpload, { name });
        else await query(replaceUpload, { name, upload });
      }),
    recordWithheld: (run, withheld, at, segment) =>
      ended('recordWithheld', withhold, { run, at, withheld: JSON.stringify(withheld) }, segment),
    recordConfirmed: (run, confirmed, at, segment) =>
      ended('recordConfirmed', confirm, { run, at, confirmed: JSON.stringify(confirmed) }, segment),
    recordUnpublished: (run) =>
      db.changes(async (query) => {
        const [row] = await query(isPartial, { run });
        expectRow(await query(unpublish, { run }), 'recordUnpublished', `no run ${run} that is publishing`);
        if (row?.partial !== true) await query(unmerge, { run, fromRecord: 1 });
      }),
    recordReopened: async (run) => {
      const missing = `no run ${run} that is done or withheld and keeps its results`;
      await db.change(reopen, { run }, 'recordReopened', missing);
    },
  };
}

// The segments of bought answers that later runs may take. Their content is in the answer store.
const forgetRun = statement('DELETE FROM segments WHERE run = @run');
const insert = statement(`
  INSERT INTO segments (id, run, newest, segment) VALUES (@id, @run, @newest, @segment)`);
const forget: Prepared<{ id: string }> = statement('DELETE FROM segments WHERE id = @id RETURNING id');

/** Adds a segment, which replaces an older one of the same run, within a transaction. */
async function addSegment(query: Query, segment: Segment): Promise<void> {
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
