/**
 * Runs: adds, supersedes and prunes them, replaces the stamps of their source, and reads them and their publications.
 */
import type { Choice, Source } from '../../../types.js';
import type { Checkpoint, CheckpointReader, NewRun, PublishedFile } from '../../checkpoint.js';
import type { RecordedLoad } from '../../publication.js';
import {
  createSourceParser,
  type HeadRow,
  parseOrNull,
  type RunRow,
  toRun,
  toRunHead,
  toRunIfAny,
} from '../../rows/run-row.js';
import { expectOneRow, type StateDatabase } from '../state-database.js';

/** Makes `recordRun`, `recordSourceStamp` and `recordSuperseded`. */
export function runChanges(
  db: StateDatabase,
): Pick<Checkpoint, 'recordRun' | 'recordSourceStamp' | 'recordSuperseded'> {
  const insertRun = db.prepare(`
    INSERT INTO runs (id, pipeline, service, label, source, frozen, canary, choice, rehearsal, created_at, state)
    VALUES (@id, @pipeline, @service, @label, @source, @frozen, @canary, @choice, @rehearsal, @createdAt, 'open')
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
      const choice = run.choice && JSON.stringify(run.choice);
      const rehearsal = Number(run.choice?.rehearsal === true);
      const row = { id, pipeline, service, label, source, frozen, canary, choice, rehearsal, createdAt };
      const inserted = insertRun.run(row);
      expectOneRow(inserted, 'recordRun', `run ${id} exists already`);
    }),
    recordSourceStamp: db.change((run: string, source: Source) => {
      const replaced = replaceSource.run({ run, source: JSON.stringify(source), sha256: source.sha256 });
      expectOneRow(replaced, 'recordSourceStamp', `no run ${run} of a source with this content`);
    }),
    recordSuperseded: db.change((run: string, at: number) => {
      expectOneRow(
        supersede.run({ run, at }),
        'recordSuperseded',
        `no run ${run} that is open or publishing`,
      );
    }),
  };
}

/** A row of the table `publications`, and whether its run is a sample. */
type FileRow = Omit<PublishedFile, 'isSample'> & { readonly isSample: number };

/** By the order of insertion, because the clock may have been set back between two runs. */
const NEWEST_FIRST = 'ORDER BY rowid DESC';

/** Makes `run`, `runs`, `runHeads`, `longestAges`, `unfinishedRun`, `latestRun`, `doneRuns`, `publications` and `lastLoad`. */
export function runReads(
  db: StateDatabase,
): Pick<
  CheckpointReader,
  | 'run'
  | 'runs'
  | 'runHeads'
  | 'longestAges'
  | 'unfinishedRun'
  | 'latestRun'
  | 'doneRuns'
  | 'publications'
  | 'lastLoad'
> {
  const sourceOf = createSourceParser();
  const byId = db.prepare<[string], RunRow>('SELECT * FROM runs WHERE id = ?');
  const all = db.prepare<[], RunRow>(`SELECT * FROM runs ${NEWEST_FIRST}`);
  const ofPipeline = db.prepare<[string], RunRow>(`SELECT * FROM runs WHERE pipeline = ? ${NEWEST_FIRST}`);
  const heads = db.prepare<[], HeadRow>(`
    SELECT id, pipeline, service, state, chunks, rehearsal, pruned_at AS prunedAt, choice IS NOT NULL AS hasChoice
    FROM runs ${NEWEST_FIRST}`);
  const ages = db.prepare<[], Pick<Choice, 'maxAge' | 'failedAge'>>(`
    SELECT coalesce(max(choice ->> 'maxAge'), 0) AS maxAge, coalesce(max(choice ->> 'failedAge'), 0) AS failedAge
    FROM runs WHERE choice IS NOT NULL AND pruned_at IS NULL`);
  const unfinished = db.prepare<[string, number | null], RunRow>(`
    SELECT * FROM runs
    WHERE pipeline = ? AND record_limit IS ? AND state IN ('open', 'publishing') ${NEWEST_FIRST} LIMIT 1`);
  // Publications are in order by their numbers. A withheld or confirmed run has none, so its end counts.
  const latest = db.prepare<[string, number | null], RunRow>(`
    WITH
      mine AS (
        SELECT rowid, publication ->> 'number' AS number, * FROM runs
        WHERE pipeline = ? AND record_limit IS ?),
      published AS (SELECT finished_at, rowid FROM mine WHERE state = 'done' AND number IS NOT NULL ORDER BY number DESC LIMIT 1)
    SELECT * FROM mine WHERE state <> 'superseded'
    ORDER BY
      CASE
        WHEN state IN ('open', 'publishing') THEN 0
        WHEN number IS NULL AND (finished_at, rowid) > (SELECT finished_at, rowid FROM published) THEN 1
        WHEN number IS NOT NULL THEN 2
        ELSE 3
      END,
      CASE state WHEN 'done' THEN coalesce(number, finished_at) WHEN 'withheld' THEN finished_at END DESC,
      rowid DESC
    LIMIT 1`);
  const done = db.prepare<[string, string, string], RunRow>(`
    SELECT * FROM runs WHERE pipeline = ? AND service = ? AND source ->> 'sha256' = ?
      AND state IN ('done', 'withheld') ${NEWEST_FIRST}`);
  const published = db.prepare<[string], FileRow>(`
    SELECT number, run, path, bytes, sha256, stamp,
      EXISTS (SELECT 1 FROM runs WHERE id = run AND record_limit IS NOT NULL) AS isSample
    FROM publications WHERE pipeline = ? ORDER BY number DESC`);
  const load = db.prepare<[string], string>('SELECT load FROM loads WHERE run = ?').pluck();

  return {
    run: db.read((id: string) => {
      const row = byId.get(id);
      return row && toRun(row, sourceOf);
    }),
    runs: db.read((pipeline?: string) =>
      (pipeline === undefined ? all.all() : ofPipeline.all(pipeline)).map((row) => toRun(row)),
    ),
    runHeads: db.read(() => heads.all().map(toRunHead)),
    longestAges: db.read(() => ages.get()!),
    unfinishedRun: db.read((pipeline: string, limit?: number) =>
      toRunIfAny(unfinished.get(pipeline, limit ?? null)),
    ),
    latestRun: db.read((pipeline: string, limit?: number) => toRunIfAny(latest.get(pipeline, limit ?? null))),
    doneRuns: db.read((pipeline: string, service: string, sourceSha256: string) =>
      done.all(pipeline, service, sourceSha256).map((row) => toRun(row)),
    ),
    publications: db.read((pipeline: string) =>
      published.all(pipeline).map((file) => ({ ...file, isSample: file.isSample === 1 })),
    ),
    lastLoad: db.read((run: string) => parseOrNull<RecordedLoad>(load.get(run) ?? null) ?? undefined),
  };
}

/** Makes `recordPruned`: deletes the results of a run that has ended, and keeps its uploads and searches. */
export function pruneChange(db: StateDatabase): Pick<Checkpoint, 'recordPruned'> {
  const prune = db.prepare(`
    UPDATE runs SET pruned_at = @at
    WHERE id = @run AND state IN ('done', 'withheld', 'superseded') AND pruned_at IS NULL`);
  const forget = [
    ...['parts', 'picked_records', 'chunks', 'stretches'].map(
      (table) => `DELETE FROM ${table} WHERE run = @run`,
    ),
    'UPDATE searches SET "values" = NULL WHERE run = @run',
  ].map((sql) => db.prepare(sql));

  return {
    recordPruned: db.change((run: string, at: number) => {
      const missing = `no run ${run} that is done, withheld or superseded and keeps its results`;
      expectOneRow(prune.run({ run, at }), 'recordPruned', missing);
      for (const statement of forget) statement.run({ run });
    }),
  };
}
