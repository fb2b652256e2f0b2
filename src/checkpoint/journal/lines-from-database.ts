/** Makes the lines of a run's journal from the database, to replace a missing, incomplete or damaged journal. */
import type { NightFacts } from '../night.js';
import { unpackNumbers } from '../packed-numbers.js';
import { type StoredChunk, toChunk } from '../rows/chunk-rows.js';
import { type StoredSearch, type StoredUpload, toSearch, UPLOAD_COLUMNS } from '../rows/paid-rows.js';
import { type RunRow, toRun } from '../rows/run-row.js';
import type { StateDatabase } from '../sqlite/state-database.js';
import type { ChunkRow, Run } from '../state.js';
import { cutLine, intentLine, type JournalLine, journalVersion, type NumberedFile } from './journal-line.js';

interface KnownRun extends RunRow {
  /** Whether its columns are those that the pipeline has learned. */
  readonly learned: number;
  readonly mixed: number;
}

type CutRow = StoredChunk & { readonly numbers: Buffer | null };
type UploadRow = StoredUpload & { readonly day: string };
type SearchRow = StoredSearch & { readonly day: string };

interface FileRow extends Omit<NumberedFile, 'night'> {
  readonly night: string | null;
}

/** The number of rows in one read. */
const PAGE = 500;

/** Prepares the statements. Nobody may change the run while its lines are read: its pipeline's lock is held. */
export function linesFromDatabase(db: StateDatabase): (run: string) => Generator<JournalLine> {
  const byId = db.prepare<[string], KnownRun>(`
    SELECT runs.*, runs.columns IS (SELECT k.columns FROM pipeline_columns AS k
      WHERE k.pipeline = runs.pipeline AND k.service = runs.service) AS learned
    FROM runs WHERE id = ?`);
  const chunksAfter = db.prepare<[string, number, number], CutRow>(`
    SELECT chunks.*,
      (SELECT numbers FROM picked_records AS p WHERE p.run = chunks.run AND p.chunk = chunks.number) AS numbers
    FROM chunks WHERE run = ? AND number > ? ORDER BY number LIMIT ? + 0`);
  const uploadsOf = db.prepare<[string, number, number], UploadRow>(`
    SELECT ${UPLOAD_COLUMNS}, day FROM uploads WHERE run = ? AND chunk BETWEEN ? AND ? ORDER BY chunk, attempt`);
  const searchesAfter = db.prepare<[string, number, number], SearchRow>(`
    SELECT record, state, "values", started_at AS startedAt, day FROM searches
    WHERE run = ? AND record > ? ORDER BY record LIMIT ? + 0`);
  // The current and the partial publication are in the last lines of the run.
  const otherFiles = db.prepare<[string], FileRow>(`
    SELECT p.number, p.path, p.bytes, p.sha256, p.night FROM publications AS p JOIN runs ON runs.pipeline = p.pipeline
    WHERE runs.id = ? AND p.run = runs.id AND p.number IS NOT runs.publication ->> 'number'
      AND p.number IS NOT runs.partial ->> 'number' ORDER BY p.number`);

  function* linesOfChunks(run: string, isRehearsal: boolean): Generator<JournalLine> {
    let after = 0;
    for (;;) {
      const chunks = chunksAfter.all(run, after, PAGE);
      // Includes the uploads of chunks whose rows were pruned.
      const upTo = chunks.length < PAGE ? Number.MAX_SAFE_INTEGER : chunks.at(-1)!.number;
      const uploads = uploadsOf.all(run, after + 1, upTo);
      let at = 0;
      for (const row of chunks) {
        const chunk = toChunk(row);
        yield cutLine(chunk, row.numbers && unpackNumbers(row.numbers));
        const begin = at;
        while (uploads[at]?.chunk === chunk.number) at += 1;
        for (const upload of inOrderOfEnds(uploads.slice(begin, at), chunk))
          yield* uploadLines(upload, chunk, isRehearsal);
        yield* stateLine(chunk);
      }
      for (const upload of uploads.slice(at)) yield* uploadLines(upload, undefined, isRehearsal);
      if (chunks.length < PAGE) return;
      after = upTo;
    }
  }

  function* linesOfSearches(run: string): Generator<JournalLine> {
    for (let after = 0; ; ) {
      const searches = searchesAfter.all(run, after, PAGE);
      for (const { day, ...row } of searches) {
        const { record, state, values, startedAt: at } = toSearch(row);
        yield { type: 'search', record, at, day };
        if (state !== 'intent') yield { type: 'searched', record, state, values };
      }
      if (searches.length < PAGE) return;
      after = searches.at(-1)!.record;
    }
  }

  return function* (id) {
    const row = byId.get(id)!;
    const run = toRun(row);
    yield runLine(run);
    yield* linesOfChunks(id, run.rehearsal);
    if (run.chunks !== null) yield { type: 'all-cut', chunks: run.chunks };
    yield* linesOfSearches(id);
    if (run.round > 0) yield { type: 'settled', round: run.round };
    if (run.columns !== null) yield { type: 'columns', columns: run.columns, learned: row.learned === 1 };
    if (run.rehearsal) yield { type: 'rehearsal' };
    if (row.mixed === 1) yield { type: 'mixed' };
    for (const { night, ...file } of otherFiles.all(id)) {
      const facts = night === null ? {} : { night: JSON.parse(night) as NightFacts };
      yield { type: 'published', file: { ...file, ...facts } };
    }
    yield* endLines(run);
  };
}

function runLine(run: Run): JournalLine {
  const { id, pipeline, service, label, canary, choice, createdAt, source, frozen } = run;
  const head = { run: id, pipeline, service, label, canary, ...(choice && { choice }) };
  return { type: 'run', version: journalVersion, ...head, createdAt, source, frozen };
}

/** Puts the attempt with the chunk's folio last, because an adopted attempt may be older than others. */
function inOrderOfEnds(uploads: readonly UploadRow[], { folio }: ChunkRow): readonly UploadRow[] {
  if (uploads.length < 2 || folio === null) return uploads;
  const bound = uploads.findLast((upload) => upload.state === 'accepted' && upload.folio === folio);
  return bound === undefined ? uploads : [...uploads.filter((upload) => upload !== bound), bound];
}

/** @param isRehearsal what counts if the upload does not say whether a local service has answered it. */
function* uploadLines(
  upload: UploadRow,
  sent: ChunkRow | undefined,
  isRehearsal: boolean,
): Generator<JournalLine> {
  const { chunk, attempt, state, folio, serviceRecords, local, startedAt, endedAt, doubt } = upload;
  yield intentLine(upload, sent, upload.day);
  if (state === 'accepted') {
    const rehearsal = local === null ? isRehearsal : local === 1;
    const reply = { folio: folio!, serviceRecords, rehearsal };
    yield { type: state, chunk, attempt, ...reply, at: endedAt ?? startedAt };
  } else if (state !== 'intent') {
    yield { type: state, chunk, attempt, at: endedAt, ...(doubt !== null && { doubt }) };
  }
}

function* stateLine({ number: chunk, state, cause, refusal }: ChunkRow): Generator<JournalLine> {
  if (state === 'split') yield { type: 'split', chunk };
  else if (state === 'refused') yield { type: 'refused', chunk, refusal: refusal ?? '' };
  else if (state === 'unprocessed') yield { type: 'unprocessed', chunk, cause: cause! };
}

function* endLines(run: Run): Generator<JournalLine> {
  const { state, publication, partial, withheld, confirmed, prunedAt } = run;
  const at = run.finishedAt ?? 0;
  if (partial !== null) {
    yield { type: 'publishing', publication: partial };
    yield { type: 'done', at: partial.at ?? 0 };
  }
  if (publication !== null) {
    yield { type: 'publishing', publication };
    if (state === 'done') yield { type: 'done', at };
  }
  if (withheld !== null) yield { type: 'withheld', withheld, at };
  if (confirmed !== null) yield { type: 'confirmed', confirmed, at };
  if (state === 'superseded') yield { type: 'superseded', at };
  if (prunedAt !== null) yield { type: 'pruned', at: prunedAt };
}
