/** Writes a rebuilt run into the tables, and replaces its old rows. */
import type { FolioCounts, StoredPart } from '../../types.js';
import { packNumbers } from '../packed-numbers.js';
import type { StateDatabase } from '../sqlite/state-database.js';
import { budgetChanges } from '../sqlite/tables/spending.js';
import type { RebuiltChunk, RebuiltRun } from './rebuilt-run.js';

/** The complete set of a chunk's parts on the disk. */
export interface FoundParts {
  readonly counts: FolioCounts;
  readonly parts: readonly StoredPart[];
}

/** Prepares the statements. Each insertion is one transaction. */
export function runInsertion(
  db: StateDatabase,
): (run: RebuiltRun, partsOf: ReadonlyMap<number, FoundParts>) => Promise<void> {
  const forget = ['parts', 'picked_records', 'uploads', 'chunks', 'stretches', 'searches', 'spending'].map(
    (table) => db.prepare(`DELETE FROM ${table} WHERE run = ?`),
  );
  // Updates an existing row in place, because the order of the rows is the order of the runs.
  const putRun = db.prepare(`
    INSERT INTO runs (id, pipeline, service, label, source, frozen, canary, choice, created_at, state, chunks, columns,
      round, rehearsal, mixed, publication, partial, withheld, confirmed, finished_at, pruned_at)
    VALUES (@id, @pipeline, @service, @label, @source, @frozen, @canary, @choice, @createdAt, @state, @chunks, @columns,
      @round, @rehearsal, @mixed, @publication, @partial, @withheld, @confirmed, @finishedAt, @prunedAt)
    ON CONFLICT (id) DO UPDATE SET state = excluded.state, chunks = excluded.chunks, columns = excluded.columns,
      join_way = NULL, round = excluded.round, rehearsal = excluded.rehearsal,
      mixed = excluded.mixed, frozen = excluded.frozen,
      publication = excluded.publication, partial = excluded.partial, withheld = excluded.withheld,
      confirmed = excluded.confirmed, finished_at = excluded.finished_at, pruned_at = excluded.pruned_at`);
  const putChunk = db.prepare(`
    INSERT INTO chunks (run, number, round, first_record, last_record, records, start_file, start_offset,
      end_file, end_offset, bytes, sha256, state, attempt, folio, submitted_at, successful, failed, cause, refusal)
    VALUES (@run, @number, @round, @firstRecord, @lastRecord, @records, @startFile, @startOffset,
      @endFile, @endOffset, @bytes, @sha256, @state, @attempt, @folio, @submittedAt, @successful, @failed, @cause,
      @refusal)`);
  const putPicked = db.prepare('INSERT INTO picked_records (run, chunk, numbers) VALUES (?, ?, ?)');
  const putUpload = db.prepare(`
    INSERT INTO uploads (run, chunk, attempt, file_name, records, state, folio, service_records, started_at, day,
      ended_at, doubt, local)
    VALUES (@run, @chunk, @attempt, @fileName, @records, @state, @folio, @serviceRecords, @startedAt, @day,
      @endedAt, @doubt, @local)`);
  const putPart = db.prepare(`
    INSERT INTO parts (run, chunk, file_status, part, bytes, sha256, records)
    VALUES (@run, @chunk, @fileStatus, @part, @bytes, @sha256, @records)`);
  const putSearch = db.prepare(`
    INSERT INTO searches (run, record, state, "values", started_at, day)
    VALUES (@run, @record, @state, @values, @startedAt, @day)`);
  const { spend } = budgetChanges(db);
  // Keeps the columns that a newer run has learned.
  const learn = db.prepare(`
    INSERT INTO pipeline_columns (pipeline, service, columns) SELECT @pipeline, @service, @columns
    WHERE NOT EXISTS (SELECT 1 FROM runs WHERE pipeline = @pipeline AND service = @service
      AND created_at > @createdAt AND columns IS NOT NULL)
    ON CONFLICT DO UPDATE SET columns = excluded.columns`);

  return db.change((run, partsOf) => {
    const { run: id, pipeline, service, createdAt } = run.head;
    for (const statement of forget) statement.run(id);
    putRun.run(runRow(run));
    for (const chunk of run.prunedAt === null ? run.chunks.values() : []) {
      const found = chunk.state === 'submitted' ? partsOf.get(chunk.number) : undefined;
      putChunk.run(chunkRow(id, chunk, found));
      if (chunk.numbers !== null) putPicked.run(id, chunk.number, packNumbers(chunk.numbers));
      for (const part of found?.parts ?? []) putPart.run({ run: id, chunk: chunk.number, ...part });
    }
    for (const upload of run.uploads.values()) {
      const { local, ...row } = upload;
      putUpload.run({ run: id, ...row, local: local === null ? null : Number(local) });
      const { day, records } = upload;
      if (upload.state !== 'dropped') spend({ run: id }, records, day);
    }
    for (const search of run.searches.values()) {
      // The process that sent it has ended.
      const state = search.state === 'intent' ? 'ambiguous' : search.state;
      const values = search.values === null ? null : JSON.stringify(search.values);
      putSearch.run({ run: id, ...search, state, values });
      if (state !== 'dropped') spend({ run: id }, 1, search.day);
    }
    const columns = JSON.stringify(run.columns);
    if (run.isLearned) learn.run({ pipeline, service, createdAt, columns });
  });
}

function runRow(run: RebuiltRun): object {
  const { run: id, type: _, version: _version, ...head } = run.head;
  const counted = [...run.chunks.values()].filter(({ state }) => state !== 'split').length;
  return {
    ...head,
    id,
    source: JSON.stringify(head.source),
    frozen: JSON.stringify(head.frozen),
    choice: head.choice == null ? null : JSON.stringify(head.choice),
    state: run.state,
    chunks: run.isAllCut ? counted || run.prunedChunks : null,
    columns: run.columns && JSON.stringify(run.columns),
    round: run.round,
    rehearsal: Number(run.isRehearsal),
    mixed: Number(run.isMixed),
    publication: run.publication && JSON.stringify(run.publication),
    partial: run.partial && JSON.stringify(run.partial),
    withheld: run.withheld && JSON.stringify(run.withheld),
    confirmed: run.confirmed && JSON.stringify(run.confirmed),
    finishedAt: run.finishedAt,
    prunedAt: run.prunedAt,
  };
}

function chunkRow(run: string, chunk: RebuiltChunk, found: FoundParts | undefined): object {
  const { start, end, numbers: _, ...row } = chunk;
  const refused = chunk.state === 'refused' ? { successful: 0, failed: 1 } : undefined;
  const counts = found?.counts ?? refused ?? { successful: null, failed: null };
  return {
    run,
    ...row,
    startFile: start.file,
    startOffset: start.offset,
    endFile: end.file,
    endOffset: end.offset,
    ...counts,
    state: found === undefined ? chunk.state : 'downloaded',
  };
}

/** Prepares the insertion of the publications from journals. It is one transaction. */
export function publicationInsertion(db: StateDatabase): (runs: readonly RebuiltRun[]) => Promise<void> {
  // The number in the pipeline identifies a publication; two publications may have the same content.
  const put = db.prepare(`
    INSERT INTO publications (pipeline, number, run, path, bytes, sha256, night)
    VALUES (@pipeline, @number, @run, @path, @bytes, @sha256, @night)
    ON CONFLICT DO UPDATE SET night = coalesce(night, excluded.night)`);

  return db.change((runs) => {
    for (const { head, published } of runs) {
      for (const { night, ...file } of published) {
        const facts = night === undefined ? null : JSON.stringify(night);
        put.run({ pipeline: head.pipeline, run: head.run, ...file, night: facts });
      }
    }
  });
}
