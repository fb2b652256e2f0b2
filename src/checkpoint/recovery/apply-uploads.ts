/** Applies journal lines about chunks and uploads to the run that is being rebuilt. */

import type { JournalLine } from '../journal/journal-line.js';
import { isCompleted } from '../walk-run.js';
import type { RebuiltChunk, RunBuilder } from './rebuilt-run.js';

/** Opens the run again: its publication, if any, is no longer valid. */
export function reopenRun(run: RunBuilder): void {
  Object.assign(run, { state: 'open', publication: null, withheld: null, confirmed: null, finishedAt: null });
}

export function changeChunk(run: RunBuilder, chunk: number, values: Partial<RebuiltChunk>): void {
  Object.assign(run.chunks.get(chunk) ?? {}, values);
}

const keyOf = (upload: { readonly chunk: number; readonly attempt: number }) =>
  `${upload.chunk}/${upload.attempt}`;

/** Begins an upload as ambiguous. The line of its end changes this; after a kill there is no such line. */
export function beginUpload(run: RunBuilder, line: Extract<JournalLine, { type: 'intent' }>): void {
  if (run.uploads.has(keyOf(line))) return;
  const { chunk, attempt, fileName, records, at: startedAt, day } = line;
  const sent = { chunk, attempt, fileName, records, startedAt, day };
  const open = { folio: null, serviceRecords: null, endedAt: null, local: null };
  run.uploads.set(keyOf(line), { ...sent, state: 'ambiguous', doubt: 'no-reply', ...open });
  // In a journal made from the database the attempt with the chunk's folio comes last, even if it is not the newest.
  const latest = Math.max(run.chunks.get(chunk)?.attempt ?? 0, attempt);
  changeChunk(run, chunk, { state: 'ambiguous', attempt: latest, cause: null });
}

export function bindFolio(
  run: RunBuilder,
  line: Extract<JournalLine, { type: 'accepted' | 'adopted' }>,
): void {
  const { chunk, folio, serviceRecords, rehearsal, at } = line;
  const accepted = { state: 'accepted', folio, serviceRecords, endedAt: at, doubt: null, local: rehearsal };
  Object.assign(run.uploads.get(keyOf(line)) ?? {}, accepted);
  changeChunk(run, chunk, { state: 'submitted', folio, submittedAt: at, cause: null });
  if (rehearsal) run.isRehearsal = true;
  if (line.type === 'adopted') reopenForAnswer(run, chunk);
}

/** The chunk's answer comes late, so its round must be closed again and the run must be published again. */
export function reopenForAnswer(run: RunBuilder, chunk: number): void {
  const round = run.chunks.get(chunk)?.round ?? 0;
  if (round > 0) run.round = Math.min(run.round, round - 1);
  if (isCompleted(run)) reopenRun(run);
}

export function endUpload(
  run: RunBuilder,
  line: Extract<JournalLine, { type: 'dropped' | 'ambiguous' }>,
): void {
  const upload = run.uploads.get(keyOf(line));
  // An adopted upload stays accepted.
  if (upload === undefined || upload.state === 'accepted') return;
  const doubt = line.type === 'ambiguous' ? (line.doubt ?? 'no-reply') : null;
  Object.assign(upload, { state: line.type, endedAt: line.at, doubt });
  const isDoubtful = () => {
    for (let attempt = 1; attempt <= line.attempt; attempt++) {
      if (run.uploads.get(keyOf({ chunk: line.chunk, attempt }))?.state === 'ambiguous') return true;
    }
    return false;
  };
  changeChunk(run, line.chunk, { state: isDoubtful() ? 'ambiguous' : 'cut' });
}
