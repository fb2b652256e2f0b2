/** Rebuilds a run from its journal, line by line. */
import type { JournalLine, NumberedFile, RunLine } from '../journal/journal-line.js';
import { attemptKey } from '../journal/journal-summary.js';
import type { Publication } from '../publication.js';
import { isCompleted } from '../walk-run.js';
import type { RebuiltChunk, RebuiltRun, RunBuilder } from './rebuilt-run.js';

/** @param lines all lines of the journal; the first one is the run's. */
export function rebuildRun(lines: Iterable<JournalLine>): RebuiltRun {
  let run: RunBuilder | undefined;
  for (const line of lines) {
    if (line.type === 'run') run = emptyRun(line);
    else apply(run!, line);
  }
  return run!;
}

function emptyRun(head: RunLine): RunBuilder {
  return {
    head,
    chunks: new Map(),
    uploads: new Map(),
    searches: new Map(),
    state: 'open',
    isAllCut: false,
    prunedChunks: 0,
    round: 0,
    columns: null,
    isLearned: false,
    publication: null,
    partial: null,
    withheld: null,
    confirmed: null,
    published: [],
    finishedAt: null,
    prunedAt: null,
    isRehearsal: false,
    isMixed: false,
  };
}

function apply(run: RunBuilder, line: Exclude<JournalLine, RunLine>): void {
  switch (line.type) {
    case 'cut': {
      const { type: _, chunk: number, ...cut } = line;
      const fresh = { attempt: 0, folio: null, submittedAt: null, cause: null, refusal: null };
      run.chunks.set(number, { number, ...cut, state: 'cut', ...fresh });
      return;
    }
    case 'intent':
      beginUpload(run, line);
      return;
    case 'accepted':
    case 'adopted':
      bindFolio(run, line);
      return;
    case 'dropped':
    case 'ambiguous':
      endUpload(run, line);
      return;
    case 'split':
      changeChunk(run, line.chunk, { state: 'split' });
      return;
    case 'refused':
      changeChunk(run, line.chunk, { state: 'refused', refusal: line.refusal });
      return;
    case 'unprocessed':
      changeChunk(run, line.chunk, { state: 'unprocessed', cause: line.cause });
      return;
    case 'all-cut':
      run.isAllCut = true;
      run.prunedChunks = line.chunks ?? 0;
      return;
    case 'search': {
      const { record, at: startedAt, day } = line;
      run.searches.set(record, { record, startedAt, day, state: 'intent', values: null });
      return;
    }
    case 'searched':
      Object.assign(run.searches.get(line.record) ?? {}, { state: line.state, values: line.values });
      return;
    case 'settled':
      run.round = line.round;
      return;
    case 'columns':
      run.columns = line.columns;
      run.isLearned = line.learned;
      return;
    case 'unjoined':
      run.columns = null;
      run.isLearned = false;
      return;
    case 'rehearsal':
      run.isRehearsal = true;
      return;
    case 'mixed':
      run.isMixed = true;
      run.isRehearsal = true;
      return;
    case 'found':
      changeChunk(run, line.chunk, { state: 'submitted', cause: null });
      reopenForAnswer(run, line.chunk);
      return;
    case 'published':
      run.published.push(line.file);
      return;
    case 'publishing':
      run.state = 'publishing';
      run.publication = line.publication;
      run.withheld = null;
      run.confirmed = null;
      run.published.push(fileOf(line.publication));
      run.head = { ...run.head, frozen: { ...run.head.frozen, ...line.frozen } };
      return;
    case 'done':
      if (run.publication === null) return;
      if (run.publication.partial) {
        run.partial = run.publication;
        reopenRun(run);
        return;
      }
      Object.assign(run, { state: 'done', partial: null, finishedAt: line.at });
      addNight(run, run.publication);
      return;
    case 'withheld':
      Object.assign(run, { state: 'withheld', withheld: line.withheld, finishedAt: line.at });
      return;
    case 'confirmed':
      Object.assign(run, { state: 'done', withheld: null, partial: null });
      Object.assign(run, { confirmed: line.confirmed, finishedAt: line.at });
      return;
    case 'superseded':
      run.state = 'superseded';
      run.finishedAt = line.at;
      return;
    case 'pruned':
      run.prunedAt = line.at;
      return;
    case 'unpublished':
    case 'reopened':
      reopenRun(run);
      return;
    default:
      // Lines of later versions are skipped; the compiler finds a type of this version that is missing here.
      line satisfies never;
  }
}

/** Only an output that was put in place is a night. */
function addNight({ published }: RunBuilder, { number, night }: Publication): void {
  const at = published.findLastIndex((file) => file.number === number);
  if (night !== undefined && at >= 0) published[at] = { ...published[at]!, night };
}

function fileOf({ number, bytes, sha256, output }: Publication): NumberedFile {
  return { number, path: output.path, bytes, sha256 };
}

/** Opens the run again: its publication, if any, is no longer valid. */
function reopenRun(run: RunBuilder): void {
  Object.assign(run, { state: 'open', publication: null, withheld: null, confirmed: null, finishedAt: null });
}

function changeChunk(run: RunBuilder, chunk: number, values: Partial<RebuiltChunk>): void {
  Object.assign(run.chunks.get(chunk) ?? {}, values);
}

/** Begins an upload as ambiguous. The line of its end changes this; after a kill there is no such line. */
function beginUpload(run: RunBuilder, line: Extract<JournalLine, { type: 'intent' }>): void {
  if (run.uploads.has(attemptKey(line))) return;
  const { chunk, attempt, fileName, records, at: startedAt, day } = line;
  const sent = { chunk, attempt, fileName, records, startedAt, day };
  const open = { folio: null, serviceRecords: null, endedAt: null, local: null };
  run.uploads.set(attemptKey(line), { ...sent, state: 'ambiguous', doubt: 'no-reply', ...open });
  // In a journal made from the database the attempt with the chunk's folio comes last, even if it is not the newest.
  const latest = Math.max(run.chunks.get(chunk)?.attempt ?? 0, attempt);
  changeChunk(run, chunk, { state: 'ambiguous', attempt: latest, cause: null });
}

function bindFolio(run: RunBuilder, line: Extract<JournalLine, { type: 'accepted' | 'adopted' }>): void {
  const { chunk, folio, serviceRecords, rehearsal, at } = line;
  const accepted = { state: 'accepted', folio, serviceRecords, endedAt: at, doubt: null, local: rehearsal };
  Object.assign(run.uploads.get(attemptKey(line)) ?? {}, accepted);
  changeChunk(run, chunk, { state: 'submitted', folio, submittedAt: at, cause: null });
  if (rehearsal) run.isRehearsal = true;
  if (line.type === 'adopted') reopenForAnswer(run, chunk);
}

/** The chunk's answer comes late, so its round must be closed again and the run must be published again. */
function reopenForAnswer(run: RunBuilder, chunk: number): void {
  const round = run.chunks.get(chunk)?.round ?? 0;
  if (round > 0) run.round = Math.min(run.round, round - 1);
  if (isCompleted(run)) reopenRun(run);
}

function endUpload(run: RunBuilder, line: Extract<JournalLine, { type: 'dropped' | 'ambiguous' }>): void {
  const upload = run.uploads.get(attemptKey(line));
  // An adopted upload stays accepted.
  if (upload === undefined || upload.state === 'accepted') return;
  const doubt = line.type === 'ambiguous' ? (line.doubt ?? 'no-reply') : null;
  Object.assign(upload, { state: line.type, endedAt: line.at, doubt });
  const isDoubtful = () => {
    for (let attempt = 1; attempt <= line.attempt; attempt++) {
      if (run.uploads.get(attemptKey({ chunk: line.chunk, attempt }))?.state === 'ambiguous') return true;
    }
    return false;
  };
  changeChunk(run, line.chunk, { state: isDoubtful() ? 'ambiguous' : 'cut' });
}
