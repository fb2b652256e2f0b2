/**
 * Late folios: a folio that a person has found, or that the service knows again, is bound to its chunk. Rounds, rows
 * and publications that were made without the chunk's answer are open again.
 */
import type { Checkpoint } from '../checkpoint.js';
import { ask, askForRow, type Change, type MakeChange } from './change.js';
import { UNMERGE_FOR_ANSWER } from './chunk-rows.js';
import { OPEN_AGAIN } from './publication-changes.js';

/** A chunk whose answer comes late. */
interface LateChunk {
  readonly round: number;
  readonly first: number;
}

/** Returns the chunk if it may take a folio that a person has found. */
const SUBMIT_ADOPTED = `
  UPDATE chunks SET state = 'submitted', folio = @folio, submitted_at = @at, cause = NULL,
    successful = NULL, failed = NULL
  WHERE run = @run AND number = @chunk
    AND (state = 'ambiguous' OR state = 'unprocessed' AND cause IN ('AMBIGUOUS_HELD', 'FOLIO_LOST', 'FOLIO_ABANDONED'))
    AND EXISTS (SELECT 1 FROM runs WHERE id = @run AND state IN ('open', 'done', 'withheld'))
  RETURNING round, first_record AS first`;

/** Returns the chunk if its folio was lost. */
const SUBMIT_FOUND = `
  UPDATE chunks SET state = 'submitted', cause = NULL, successful = NULL, failed = NULL
  WHERE run = @run AND number = @chunk AND state = 'unprocessed' AND cause = 'FOLIO_LOST'
    AND folio IS NOT NULL
    AND EXISTS (SELECT 1 FROM runs WHERE id = @run AND state IN ('open', 'done', 'withheld')
      AND pruned_at IS NULL)
  RETURNING round, first_record AS first`;

/** Deletes the parts of another folio of the chunk, and those of a chunk that was given up: they may be wrong. */
const FORGET_PARTS = `
  DELETE FROM parts WHERE run = @run AND chunk = @chunk AND NOT EXISTS
    (SELECT 1 FROM chunks WHERE run = @run AND number = @chunk AND folio = @folio
      AND coalesce(cause, '') <> 'FOLIO_ABANDONED')`;

/** The attempt that has this folio is accepted; else the named or the last ambiguous one; else the last accepted one. */
const ACCEPT_ADOPTED = `
  UPDATE uploads SET state = 'accepted', doubt = NULL, folio = @folio, local = @local,
    service_records = @serviceRecords, ended_at = @at
  WHERE run = @run AND chunk = @chunk AND attempt = coalesce(
    (SELECT max(attempt) FROM uploads WHERE run = @run AND chunk = @chunk AND folio = @folio),
    (SELECT attempt FROM uploads
      WHERE run = @run AND chunk = @chunk AND attempt = @attempt AND state = 'ambiguous'),
    (SELECT max(attempt) FROM uploads WHERE run = @run AND chunk = @chunk AND state = 'ambiguous'),
    (SELECT max(attempt) FROM uploads WHERE run = @run AND chunk = @chunk AND state = 'accepted'))
  RETURNING attempt`;

/** Marks a run whose answer comes from the local service. */
const MARK_REHEARSAL = 'UPDATE runs SET rehearsal = 1 WHERE id = @run';

/** Opens a run that was published, confirmed or withheld without the answer. */
const REOPEN = `${OPEN_AGAIN} AND state IN ('done', 'withheld')`;

const UNSETTLE_ROUNDS = `
  UPDATE runs SET round = CASE WHEN round < @round THEN round ELSE @round - 1 END WHERE id = @run`;

/** Makes `recordAdopted` and `recordFound`. */
export function lateFolioChanges(make: MakeChange): Pick<Checkpoint, 'recordAdopted' | 'recordFound'> {
  return {
    recordAdopted: make(function* (run, chunk, { folio, serviceRecords, rehearsal, attempt = null }, at) {
      const missing = `no chunk ${chunk} of run ${run}, open, done or withheld, that may have been accepted, was lost or was given up`;
      yield* ask(FORGET_PARTS, { run, chunk, folio });
      const values = { run, chunk, folio, at };
      const adopted = yield* askForRow<LateChunk>(SUBMIT_ADOPTED, values, 'recordAdopted', missing);
      const reply = { ...values, attempt, local: rehearsal ? 1 : 0, serviceRecords };
      yield* askForRow(ACCEPT_ADOPTED, reply, 'recordAdopted', missing);
      yield* reopenForAnswer(run, adopted);
      if (rehearsal) yield* ask(MARK_REHEARSAL, { run });
    }),
    recordFound: make(function* (run, chunk) {
      const missing = `no chunk ${chunk} of run ${run}, open, done or withheld, whose folio was lost`;
      yield* reopenForAnswer(run, yield* askForRow(SUBMIT_FOUND, { run, chunk }, 'recordFound', missing));
    }),
  };
}

/** Undoes what was made without the answer: merges from this chunk on, the end of its round, and the publication. */
function* reopenForAnswer(run: string, { round, first }: LateChunk): Change<void> {
  yield* ask(UNMERGE_FOR_ANSWER, { run, fromRecord: round === 0 ? first : 1 });
  if (round > 0) yield* ask(UNSETTLE_ROUNDS, { run, round });
  yield* ask(REOPEN, { run });
}
