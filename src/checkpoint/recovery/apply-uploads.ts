/** What a journal's lines on single chunks and uploads change in the run that is being put together. */
import type { JournalLine } from '../journal/journal-line.js';
import type { Building, JournaledChunk } from './journaled.js';

/** Its publication, if it had one, no longer stands. */
export function reopen(run: Building): void {
  Object.assign(run, { state: 'open', publication: null, finishedAt: null });
}

export function change(run: Building, chunk: number, values: Partial<JournaledChunk>): void {
  Object.assign(run.chunks.get(chunk) ?? {}, values);
}

const keyOf = (of: { readonly chunk: number; readonly attempt: number }) => `${of.chunk}/${of.attempt}`;

/** Until the line of its end, nobody knows of it: what a kill has left is so for good. */
export function beginUpload(run: Building, line: Extract<JournalLine, { type: 'intent' }>): void {
  if (run.uploads.has(keyOf(line))) return;
  const { chunk, attempt, fileName, records, at: startedAt, day } = line;
  const sent = { chunk, attempt, fileName, records, startedAt, day };
  const open = { folio: null, serviceRecords: null, endedAt: null, doubt: 'no-reply', local: null };
  run.uploads.set(keyOf(line), { ...sent, state: 'ambiguous', ...open });
  // The one whose folio the chunk has may come last, and not be its last.
  const latest = Math.max(run.chunks.get(chunk)?.attempt ?? 0, attempt);
  change(run, chunk, { state: 'ambiguous', attempt: latest, cause: null });
}

export function bindFolio(run: Building, line: Extract<JournalLine, { type: 'accepted' | 'adopted' }>): void {
  const { chunk, folio, serviceRecords, rehearsal, at } = line;
  const accepted = { state: 'accepted', folio, serviceRecords, endedAt: at, doubt: null, local: rehearsal };
  Object.assign(run.uploads.get(keyOf(line)) ?? {}, accepted);
  change(run, chunk, { state: 'submitted', folio, submittedAt: at, cause: null });
  if (rehearsal) run.isRehearsal = true;
  if (line.type === 'adopted') takeBack(run, chunk);
}

/** An answer that comes late. */
export function takeBack(run: Building, chunk: number): void {
  const round = run.chunks.get(chunk)?.round ?? 0;
  if (round > 0) run.round = Math.min(run.round, round - 1);
  if (run.state === 'done') reopen(run);
}

export function endUpload(
  run: Building,
  line: Extract<JournalLine, { type: 'dropped' | 'ambiguous' }>,
): void {
  const upload = run.uploads.get(keyOf(line));
  // One that was adopted since is accepted for good.
  if (upload === undefined || upload.state === 'accepted') return;
  const doubt = line.type === 'ambiguous' ? (line.doubt ?? 'no-reply') : null;
  Object.assign(upload, { state: line.type, endedAt: line.at, doubt });
  const isDoubtful = () => {
    for (let attempt = 1; attempt <= line.attempt; attempt++) {
      if (run.uploads.get(keyOf({ chunk: line.chunk, attempt }))?.state === 'ambiguous') return true;
    }
    return false;
  };
  change(run, line.chunk, { state: isDoubtful() ? 'ambiguous' : 'cut' });
}
