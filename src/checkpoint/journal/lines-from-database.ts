/** Makes the lines of a run's journal from the database, to replace a missing, incomplete or damaged journal. */
import type { Choice, Source, UnprocessedCause } from '../../types.js';
import type { NightFacts } from '../night.js';
import { unpackNumbers } from '../packed-numbers.js';
import type { Confirmed, Publication, Withheld } from '../publication.js';
import type { StateDatabase } from '../sqlite/state-database.js';
import type { RunState } from '../state.js';
import { type JournalLine, journalVersion, type NumberedFile } from './journal-line.js';

interface RunRow {
  readonly pipeline: string;
  readonly service: string;
  readonly label: string | null;
  readonly canary: number;
  readonly choice: string | null;
  readonly created_at: number;
  readonly source: string;
  readonly frozen: string;
  readonly state: RunState;
  readonly chunks: number | null;
  readonly columns: string | null;
  /** Whether its columns are those that the pipeline has learned. */
  readonly learned: number;
  readonly round: number;
  readonly rehearsal: number;
  readonly mixed: number;
  readonly publication: string | null;
  readonly partial: string | null;
  readonly withheld: string | null;
  readonly confirmed: string | null;
  readonly finished_at: number | null;
  readonly pruned_at: number | null;
}

interface CutRow {
  readonly chunk: number;
  readonly round: number;
  readonly firstRecord: number;
  readonly lastRecord: number;
  readonly records: number;
  readonly startFile: number;
  readonly startOffset: number;
  readonly endFile: number;
  readonly endOffset: number;
  readonly bytes: number;
  readonly sha256: string;
  readonly state: string;
  readonly folio: string | null;
  readonly cause: UnprocessedCause | null;
  readonly refusal: string | null;
  readonly numbers: Buffer | null;
}

interface UploadRow {
  readonly chunk: number;
  readonly attempt: number;
  readonly file_name: string;
  readonly records: number;
  readonly state: 'intent' | 'accepted' | 'dropped' | 'ambiguous';
  readonly folio: string | null;
  readonly service_records: number | null;
  readonly started_at: number;
  readonly day: string;
  readonly ended_at: number | null;
  readonly doubt: string | null;
  readonly local: number | null;
}

interface SearchRow {
  readonly record: number;
  readonly state: 'intent' | 'answered' | 'dropped' | 'ambiguous';
  readonly values: string | null;
  readonly at: number;
  readonly day: string;
}

interface FileRow extends Omit<NumberedFile, 'night'> {
  readonly night: string | null;
}

/** The number of rows in one read. */
const PAGE = 500;

/** Prepares the statements. Nobody may change the run while its lines are read: its pipeline's lock is held. */
export function linesFromDatabase(db: StateDatabase): (run: string) => Generator<JournalLine> {
  const byId = db.prepare<[string], RunRow>(`
    SELECT runs.*, runs.columns IS (SELECT k.columns FROM pipeline_columns AS k
      WHERE k.pipeline = runs.pipeline AND k.service = runs.service) AS learned
    FROM runs WHERE id = ?`);
  const chunksAfter = db.prepare<[string, number, number], CutRow>(`
    SELECT number AS chunk, round, first_record AS firstRecord, last_record AS lastRecord, records,
      start_file AS startFile, start_offset AS startOffset, end_file AS endFile, end_offset AS endOffset, bytes,
      sha256, state, folio, cause, refusal,
      (SELECT numbers FROM picked_records AS p WHERE p.run = chunks.run AND p.chunk = chunks.number) AS numbers
    FROM chunks WHERE run = ? AND number > ? ORDER BY number LIMIT ? + 0`);
  const uploadsOf = db.prepare<[string, number, number], UploadRow>(`
    SELECT * FROM uploads WHERE run = ? AND chunk BETWEEN ? AND ? ORDER BY chunk, attempt`);
  const searchesAfter = db.prepare<[string, number, number], SearchRow>(`
    SELECT record, state, "values", started_at AS at, day FROM searches
    WHERE run = ? AND record > ? ORDER BY record LIMIT ? + 0`);
  // The current and the partial publication are in the last lines of the run.
  const otherFiles = db.prepare<[string], FileRow>(`
    SELECT p.number, p.path, p.bytes, p.sha256, p.night FROM publications AS p JOIN runs ON runs.pipeline = p.pipeline
    WHERE runs.id = ? AND p.run = runs.id AND p.number IS NOT runs.publication ->> 'number'
      AND p.number IS NOT runs.partial ->> 'number' ORDER BY p.number`);

  function* linesOfChunks(run: string, row: RunRow): Generator<JournalLine> {
    let after = 0;
    for (;;) {
      const chunks = chunksAfter.all(run, after, PAGE);
      // Includes the uploads of chunks whose rows were pruned.
      const upTo = chunks.length < PAGE ? Number.MAX_SAFE_INTEGER : chunks.at(-1)!.chunk;
      const uploads = uploadsOf.all(run, after + 1, upTo);
      let at = 0;
      for (const chunk of chunks) {
        yield cutLine(chunk);
        const begin = at;
        while (uploads[at]?.chunk === chunk.chunk) at += 1;
        for (const upload of inOrderOfEnds(uploads.slice(begin, at), chunk))
          yield* uploadLines(row, upload, chunk);
        yield* stateLine(chunk);
      }
      for (const upload of uploads.slice(at)) yield* uploadLines(row, upload, undefined);
      if (chunks.length < PAGE) return;
      after = upTo;
    }
  }

  function* linesOfSearches(run: string): Generator<JournalLine> {
    for (let after = 0; ; ) {
      const searches = searchesAfter.all(run, after, PAGE);
      for (const { record, state, values, at, day } of searches) {
        yield { type: 'search', record, at, day };
        const found = values === null ? null : (JSON.parse(values) as Record<string, string>);
        if (state !== 'intent') yield { type: 'searched', record, state, values: found };
      }
      if (searches.length < PAGE) return;
      after = searches.at(-1)!.record;
    }
  }

  return function* (run) {
    const row = byId.get(run)!;
    yield runLine(run, row);
    yield* linesOfChunks(run, row);
    if (row.chunks !== null) yield { type: 'all-cut', chunks: row.chunks };
    yield* linesOfSearches(run);
    if (row.round > 0) yield { type: 'settled', round: row.round };
    if (row.columns !== null) {
      const columns = JSON.parse(row.columns) as string[];
      yield { type: 'columns', columns, learned: row.learned === 1 };
    }
    if (row.rehearsal === 1) yield { type: 'rehearsal' };
    if (row.mixed === 1) yield { type: 'mixed' };
    for (const { night, ...file } of otherFiles.all(run)) {
      const facts = night === null ? {} : { night: JSON.parse(night) as NightFacts };
      yield { type: 'published', file: { ...file, ...facts } };
    }
    yield* endLines(row);
  };
}

function runLine(run: string, row: RunRow): JournalLine {
  return {
    type: 'run',
    version: journalVersion,
    run,
    pipeline: row.pipeline,
    service: row.service,
    label: row.label,
    canary: row.canary,
    ...(row.choice !== null && { choice: JSON.parse(row.choice) as Choice }),
    createdAt: row.created_at,
    source: JSON.parse(row.source) as Source,
    frozen: JSON.parse(row.frozen) as Record<string, string>,
  };
}

function cutLine(row: CutRow): JournalLine {
  const { state: _, folio: _folio, cause: _cause, refusal: _refusal, numbers, ...cut } = row;
  const { startFile, startOffset, endFile, endOffset, ...span } = cut;
  return {
    type: 'cut',
    ...span,
    start: { file: startFile, offset: startOffset },
    end: { file: endFile, offset: endOffset },
    numbers: numbers === null ? null : unpackNumbers(numbers),
  };
}

/** Puts the attempt with the chunk's folio last, because an adopted attempt may be older than others. */
function inOrderOfEnds(uploads: readonly UploadRow[], { folio }: CutRow): readonly UploadRow[] {
  if (uploads.length < 2 || folio === null) return uploads;
  const bound = uploads.findLast((upload) => upload.state === 'accepted' && upload.folio === folio);
  return bound === undefined ? uploads : [...uploads.filter((upload) => upload !== bound), bound];
}

function* uploadLines(run: RunRow, upload: UploadRow, chunk: CutRow | undefined): Generator<JournalLine> {
  const attempt = { chunk: upload.chunk, attempt: upload.attempt };
  yield {
    type: 'intent',
    ...attempt,
    firstRecord: chunk?.firstRecord ?? null,
    lastRecord: chunk?.lastRecord ?? null,
    records: upload.records,
    sha256: chunk?.sha256 ?? null,
    fileName: upload.file_name,
    at: upload.started_at,
    day: upload.day,
  };
  const { ended_at: at, local } = upload;
  if (upload.state === 'accepted') {
    const { folio, service_records: serviceRecords } = upload;
    const rehearsal = (local ?? run.rehearsal) === 1;
    yield {
      type: 'accepted',
      ...attempt,
      folio: folio!,
      serviceRecords,
      rehearsal,
      at: at ?? upload.started_at,
    };
  } else if (upload.state !== 'intent') {
    yield { type: upload.state, ...attempt, at, ...(upload.doubt !== null && { doubt: upload.doubt }) };
  }
}

function* stateLine({ chunk, state, cause, refusal }: CutRow): Generator<JournalLine> {
  if (state === 'split') yield { type: 'split', chunk };
  else if (state === 'refused') yield { type: 'refused', chunk, refusal: refusal ?? '' };
  else if (state === 'unprocessed') yield { type: 'unprocessed', chunk, cause: cause! };
}

function* endLines({
  state,
  publication,
  partial,
  withheld,
  confirmed,
  finished_at,
  pruned_at,
}: RunRow): Generator<JournalLine> {
  const at = finished_at ?? 0;
  if (partial !== null) {
    const published = JSON.parse(partial) as Publication;
    yield { type: 'publishing', publication: published };
    yield { type: 'done', at: published.at ?? 0 };
  }
  if (publication !== null) {
    yield { type: 'publishing', publication: JSON.parse(publication) as Publication };
    if (state === 'done') yield { type: 'done', at };
  }
  if (withheld !== null) yield { type: 'withheld', withheld: JSON.parse(withheld) as Withheld, at };
  if (confirmed !== null) yield { type: 'confirmed', confirmed: JSON.parse(confirmed) as Confirmed, at };
  if (state === 'superseded') yield { type: 'superseded', at };
  if (pruned_at !== null) yield { type: 'pruned', at: pruned_at };
}
