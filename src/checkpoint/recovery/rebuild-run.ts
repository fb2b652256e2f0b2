/** Rebuilds a run from its journal, line by line. */
import type { JournalLine, NumberedFile, RunLine } from '../journal/journal-line.js';
import type { Publication } from '../publication.js';
import {
  beginUpload,
  bindFolio,
  changeChunk,
  endUpload,
  reopenForAnswer,
  reopenRun,
} from './apply-uploads.js';
import type { RebuiltRun, RunBuilder } from './rebuilt-run.js';

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
    default:
      applyEnd(run, line);
  }
}

type EndLines = Extract<
  JournalLine,
  {
    type:
      | 'published'
      | 'publishing'
      | 'done'
      | 'withheld'
      | 'confirmed'
      | 'superseded'
      | 'pruned'
      | 'unpublished'
      | 'reopened';
  }
>;

function applyEnd(run: RunBuilder, line: EndLines): void {
  switch (line.type) {
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
