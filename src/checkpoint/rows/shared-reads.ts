/** The reads of the port whose statements are the same in both databases. */
import { createReasonCounter, type FailureReason } from '../../failure-reasons.js';
import type { Segment, StoredPart } from '../../types.js';
import type { Answered, CheckpointReader, SpentOnDay } from '../checkpoint-reader.js';
import { unpackNumbers } from '../packed-numbers.js';
import type { RecordedLoad } from '../publication.js';
import { pagesOf } from '../walk-run.js';
import {
  CHUNK_BY_NUMBER,
  PICKED_RECORDS,
  STORED_PARTS,
  type StoredChunk,
  type StoredStretch,
  toChunkIfAny,
  toStretchIfAny,
} from './chunk-rows.js';
import {
  SINGLE_SEARCH_COLUMNS,
  type StoredSearch,
  type StoredSingleSearch,
  type StoredSum,
  type StoredUpload,
  toSearch,
  toSingleSearch,
  toSum,
  toUpload,
  toUploadIfAny,
  UPLOAD_COLUMNS,
  UPLOAD_SUMS,
} from './paid-rows.js';
import { type StoredNight, type StoredTimes, toNight, toTimes } from './report-rows.js';
import {
  createSourceParser,
  type FileRow,
  type HeadRow,
  type RunRow,
  toFile,
  toRun,
  toRunHead,
  toRunIfAny,
} from './run-row.js';

/**
 * Makes a read from a statement with `@name` for each value.
 * @param isFresh for rows that a process changes without the lock of their pipeline: its answer must not be kept.
 */
type MakeRead = <Row>(
  sql: string,
  isFresh?: boolean,
) => (values: Readonly<Record<string, string | number | null>>) => Promise<readonly Row[]>;

/**
 * Makes all of them.
 * @param nth the column that increases with each run that is added. It gives the order of the runs, because the clock may
 *   have been set back between two of them.
 * @param indexedBy names the index of chunks in order, where the database would follow another one.
 */
export function sharedReads(read: MakeRead, nth: 'rowid' | 'nth', indexedBy = '') {
  return {
    ...runReads(read, nth),
    ...pipelineReads(read),
    ...orderReads(read, indexedBy),
    ...chunkReads(read),
    ...paidReads(read),
  };
}

type RunRead = 'run' | 'runs' | 'runHeads' | 'unfinishedRun' | 'nightOf' | 'lastLoad';

function runReads(read: MakeRead, nth: string): Pick<CheckpointReader, RunRead> {
  const newestFirst = `ORDER BY ${nth} DESC`;
  const byId = read<RunRow>('SELECT * FROM runs WHERE id = @id');
  const all = read<RunRow>(`SELECT * FROM runs ${newestFirst}`);
  const ofPipeline = read<RunRow>(`SELECT * FROM runs WHERE pipeline = @pipeline ${newestFirst}`);
  const heads = read<HeadRow>(`
    SELECT id, pipeline, service, state, chunks, rehearsal, pruned_at AS "prunedAt", choice IS NOT NULL AS "hasChoice"
    FROM runs ${newestFirst}`);
  const unfinished = read<RunRow>(`
    SELECT * FROM runs
    WHERE pipeline = @pipeline AND record_limit IS NOT DISTINCT FROM CAST(@limit AS BIGINT)
      AND state IN ('open', 'publishing') ${newestFirst} LIMIT 1`);
  const night = read<StoredNight>(`
    SELECT number AS publication, run, night FROM publications
    WHERE run = @run AND night IS NOT NULL ORDER BY number DESC LIMIT 1`);
  const load = read<{ load: string }>('SELECT load FROM loads WHERE run = @run');
  const sourceOf = createSourceParser();

  return {
    run: async (id) => {
      const [row] = await byId({ id });
      return row && toRun(row, sourceOf);
    },
    runs: async (pipeline) => {
      const rows = pipeline === undefined ? await all({}) : await ofPipeline({ pipeline });
      return rows.map((row) => toRun(row));
    },
    runHeads: async () => (await heads({})).map(toRunHead),
    unfinishedRun: async (pipeline, limit) =>
      toRunIfAny((await unfinished({ pipeline, limit: limit ?? null }))[0]),
    nightOf: async (run) => {
      const [row] = await night({ run });
      return row && toNight(row);
    },
    lastLoad: async (run) => {
      const [row] = await load({ run });
      return row && (JSON.parse(row.load) as RecordedLoad);
    },
  };
}

type PipelineRead = 'publications' | 'nights' | 'knownColumns' | 'segments';

function pipelineReads(read: MakeRead): Pick<CheckpointReader, PipelineRead> {
  const published = read<FileRow>(`
    SELECT number, run, path, bytes, sha256, stamp,
      EXISTS (SELECT 1 FROM runs WHERE id = run AND record_limit IS NOT NULL) AS "isSample"
    FROM publications WHERE pipeline = @pipeline ORDER BY number DESC`);
  const nights = read<StoredNight>(`
    SELECT number AS publication, run, night FROM publications
    WHERE pipeline = @pipeline AND number <= @upTo AND night IS NOT NULL
      AND NOT EXISTS (SELECT 1 FROM runs WHERE id = run AND record_limit IS NOT NULL)
    ORDER BY number DESC ${UP_TO_LIMIT}`);
  const known = read<{ columns: string }>(
    'SELECT columns FROM pipeline_columns WHERE pipeline = @pipeline AND service = @service',
  );
  // Those that are equally new are ordered by their ids, which begin with a time.
  const segments = read<{ segment: string }>(
    'SELECT segment FROM segments ORDER BY newest DESC, id DESC',
    true,
  );
  return {
    publications: async (pipeline) => (await published({ pipeline })).map(toFile),
    nights: async (pipeline, limit, upTo = Number.MAX_SAFE_INTEGER) =>
      (await nights({ pipeline, limit, upTo })).map(toNight),
    knownColumns: async (pipeline, service) => {
      const [row] = await known({ pipeline, service });
      return row && (JSON.parse(row.columns) as string[]);
    },
    segments: async () => (await segments({})).map(({ segment }) => JSON.parse(segment) as Segment),
  };
}

/** Reads of chunks in the order of the source. */
function orderReads(
  read: MakeRead,
  indexedBy: string,
): Pick<CheckpointReader, 'nextChunk' | 'lastCut' | 'lastRound'> {
  const ofRound = `chunks ${indexedBy} WHERE run = @run AND round = @round AND state <> 'split'`;
  const next = read<StoredChunk>(`
    SELECT * FROM ${ofRound} AND last_record > @afterRecord
      AND first_record >= coalesce((
        SELECT first_record FROM ${ofRound} AND first_record <= @afterRecord
        ORDER BY first_record DESC LIMIT 1), 0)
    ORDER BY first_record LIMIT 1`);
  const last = read<StoredChunk>(`SELECT * FROM ${ofRound} ORDER BY first_record DESC LIMIT 1`);
  const lastRound = read<{ round: number }>(`
    SELECT coalesce(max(round), 0) AS round FROM chunks ${indexedBy} WHERE run = @run AND state <> 'split'`);

  return {
    nextChunk: async (run, round, afterRecord) => toChunkIfAny((await next({ run, round, afterRecord }))[0]),
    lastCut: async (run, round) => toChunkIfAny((await last({ run, round }))[0]),
    lastRound: async (run) => (await lastRound({ run }))[0]!.round,
  };
}

type ChunkRead =
  | 'chunk'
  | 'pickedRecords'
  | 'chunkTimes'
  | 'parts'
  | 'lastStretch'
  | 'nextStretch'
  | 'failureReasons'
  | 'answered';

function chunkReads(read: MakeRead): Pick<CheckpointReader, ChunkRead> {
  const byNumber = read<StoredChunk>(CHUNK_BY_NUMBER);
  const picked = read<{ numbers: Buffer }>(PICKED_RECORDS);
  // A dropped attempt was not accepted: it is a part of the wait.
  const times = read<StoredTimes>(`
    SELECT number, round, records, state, attempt, folio, successful, failed, cause, cut_at AS "cutAt",
      (SELECT max(started_at) FROM uploads
        WHERE uploads.run = chunks.run AND chunk = number AND uploads.state <> 'dropped') AS "uploadAt",
      submitted_at AS "submittedAt", finished_at AS "finishedAt", downloaded_at AS "downloadedAt",
      CASE WHEN round = 0 THEN
        (SELECT CASE WHEN merged.last_record >= chunks.last_record THEN merged_at END
          FROM stretches AS merged WHERE merged.run = chunks.run AND merged.first_record <= chunks.last_record
          ORDER BY merged.first_record DESC LIMIT 1) END AS "mergedAt"
    FROM chunks WHERE run = @run AND number > @after AND state <> 'split' ORDER BY number ${UP_TO_LIMIT}`);
  const stored = read<StoredPart>(STORED_PARTS);
  const last = read<StoredStretch>(`
    SELECT * FROM stretches WHERE run = @run AND first_record < @beforeRecord ORDER BY first_record DESC LIMIT 1`);
  const next = read<StoredStretch>(`
    SELECT * FROM stretches WHERE run = @run AND first_record > @afterRecord ORDER BY first_record LIMIT 1`);
  const reasons = read<{ first: number; reasons: string }>(`
    SELECT first_record AS first, reasons FROM stretches
    WHERE run = @run AND first_record > @after AND reasons IS NOT NULL ORDER BY first_record ${UP_TO_LIMIT}`);
  // A record of a round has failed before, and was counted then. It counts once, with its last answer. No index covers
  // this.
  const answered = read<Answered>(`
    SELECT CAST(coalesce(sum(CASE WHEN round = 0 THEN records END), 0) AS BIGINT) AS records,
      CAST(coalesce(sum(failed - CASE WHEN round = 0 THEN 0 ELSE records END), 0) AS BIGINT) AS failed
    FROM chunks WHERE run = @run AND state IN ('downloaded', 'refused')`);

  return {
    chunk: async (run, chunk) => toChunkIfAny((await byNumber({ run, chunk }))[0]),
    pickedRecords: async (run, chunk) => {
      const [row] = await picked({ run, chunk });
      return row && unpackNumbers(row.numbers);
    },
    chunkTimes: async (run, after, limit) => (await times({ run, after, limit })).map(toTimes),
    parts: (run, chunk) => stored({ run, chunk }),
    lastStretch: async (run, beforeRecord = Number.MAX_SAFE_INTEGER) =>
      toStretchIfAny((await last({ run, beforeRecord }))[0]),
    nextStretch: async (run, afterRecord) => toStretchIfAny((await next({ run, afterRecord }))[0]),
    failureReasons: async (run) => {
      const counter = createReasonCounter();
      const readPage = (after: number, limit: number) => reasons({ run, after, limit });
      for await (const page of pagesOf(0, ({ first }) => first, readPage)) {
        for (const { reasons } of page) {
          for (const reason of JSON.parse(reasons) as readonly FailureReason[]) counter.add(reason);
        }
      }
      return counter.top();
    },
    answered: async (run) => (await answered({ run }))[0]!,
  };
}

type PaidRead =
  | 'spendingByDay'
  | 'attempts'
  | 'uploadSums'
  | 'misreadUpload'
  | 'doubtsInRow'
  | 'replyKinds'
  | 'searches'
  | 'singleSearches';

/** Reads of upload attempts, of searches, and of what was paid for. */
function paidReads(read: MakeRead): Pick<CheckpointReader, PaidRead> {
  const byDay = read<SpentOnDay>(`
    SELECT day, CAST(sum(records) AS BIGINT) AS records FROM (
      SELECT day, records FROM spending
      WHERE pipeline = @pipeline AND day >= @day
        AND NOT EXISTS (SELECT 1 FROM runs WHERE runs.id = spending.run AND runs.rehearsal = 1)
      UNION ALL
      SELECT day, -1 FROM single_searches WHERE pipeline = @pipeline AND day >= @day AND local = 1) AS spent
    GROUP BY day HAVING sum(records) > 0`);
  const ofChunk = read<StoredUpload>(
    `SELECT ${UPLOAD_COLUMNS} FROM uploads WHERE run = @run AND chunk = @chunk ORDER BY attempt`,
  );
  const sums = read<StoredSum>(UPLOAD_SUMS);
  const misread = read<StoredUpload>(`
    SELECT ${UPLOAD_COLUMNS} FROM uploads
    WHERE run = @run AND state = 'accepted' AND service_records <> records ORDER BY chunk, attempt LIMIT 1`);
  // The order of two uploads that ended in the same millisecond is unknown; the ambiguous one counts as later. An
  // adopted folio proves that replies can be read, but not that the address is right. So for redirects the start time
  // counts.
  const doubts = read<{ count: number }>(`
    SELECT count(*) AS count FROM uploads
    WHERE run = @run AND state = 'ambiguous' AND doubt = @doubt AND ended_at >=
      (SELECT coalesce(max(CASE WHEN @doubt = 'redirected' THEN started_at ELSE ended_at END), 0) FROM uploads
        WHERE run = @run AND state = 'accepted')`);
  const accepted = (local: number) =>
    `EXISTS (SELECT 1 FROM uploads WHERE run = @run AND state = 'accepted' AND local = ${local})`;
  const kinds = read<{ local: number | boolean; other: number | boolean; mixed: number | null }>(`
    SELECT ${accepted(1)} AS local, ${accepted(0)} AS other, (SELECT mixed FROM runs WHERE id = @run) AS mixed`);
  const searches = read<StoredSearch>(`
    SELECT record, state, "values", started_at AS "startedAt" FROM searches
    WHERE run = @run AND record > @after ORDER BY record ${UP_TO_LIMIT}`);
  const singles = read<StoredSingleSearch>(`
    SELECT ${SINGLE_SEARCH_COLUMNS} FROM single_searches
    WHERE id > @after AND (CAST(@pipeline AS TEXT) IS NULL OR pipeline = @pipeline) ORDER BY id ${UP_TO_LIMIT}`);

  return {
    spendingByDay: async (pipeline, day) =>
      [...(await byDay({ pipeline, day }))].sort((a, b) => (a.day < b.day ? -1 : 1)),
    attempts: async (run, chunk) => (await ofChunk({ run, chunk })).map(toUpload),
    uploadSums: async (run) => (await sums({ run })).map(toSum),
    misreadUpload: async (run) => toUploadIfAny((await misread({ run }))[0]),
    doubtsInRow: async (run, doubt) => (await doubts({ run, doubt }))[0]!.count,
    replyKinds: async (run) => {
      const row = (await kinds({ run }))[0]!;
      const [local, other] = [Boolean(row.local), Boolean(row.other)];
      return { local, other, mixed: row.mixed === 1 || (local && other) };
    },
    searches: async (run, after, limit) => (await searches({ run, after, limit })).map(toSearch),
    singleSearches: async (pipeline, after, limit) =>
      (await singles({ pipeline: pipeline ?? null, after, limit })).map(toSingleSearch),
  };
}

/** With a bare `LIMIT @limit`, SQLite plans by its value and prepares the statement again at each call. */
const UP_TO_LIMIT = 'LIMIT CAST(@limit AS BIGINT)';
