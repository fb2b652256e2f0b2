/** Statements that bind a late folio to its chunk, the same in both databases. */

/** A chunk whose answer comes late. */
export interface LateChunk {
  readonly round: number;
  readonly first: number;
}

/** Returns the chunk if it may take a folio that a person has found. */
export const SUBMIT_ADOPTED = `
  UPDATE chunks SET state = 'submitted', folio = @folio, submitted_at = @at, cause = NULL,
    successful = NULL, failed = NULL
  WHERE run = @run AND number = @chunk
    AND (state = 'ambiguous' OR state = 'unprocessed' AND cause IN ('AMBIGUOUS_HELD', 'FOLIO_LOST', 'FOLIO_ABANDONED'))
    AND EXISTS (SELECT 1 FROM runs WHERE id = @run AND state IN ('open', 'done', 'withheld'))
  RETURNING round, first_record AS first`;

/** Returns the chunk if its folio was lost. */
export const SUBMIT_FOUND = `
  UPDATE chunks SET state = 'submitted', cause = NULL, successful = NULL, failed = NULL
  WHERE run = @run AND number = @chunk AND state = 'unprocessed' AND cause = 'FOLIO_LOST'
    AND folio IS NOT NULL
    AND EXISTS (SELECT 1 FROM runs WHERE id = @run AND state IN ('open', 'done', 'withheld')
      AND pruned_at IS NULL)
  RETURNING round, first_record AS first`;

/** Deletes the parts of another folio of the chunk, and those of a chunk that was given up: they may be wrong. */
export const FORGET_PARTS = `
  DELETE FROM parts WHERE run = @run AND chunk = @chunk AND NOT EXISTS
    (SELECT 1 FROM chunks WHERE run = @run AND number = @chunk AND folio = @folio
      AND coalesce(cause, '') <> 'FOLIO_ABANDONED')`;

/** The attempt that has this folio is accepted; else the named or the last ambiguous one; else the last accepted one. */
export const ACCEPT_ADOPTED = `
  UPDATE uploads SET state = 'accepted', doubt = NULL, folio = @folio, local = @local,
    service_records = @serviceRecords, ended_at = @at
  WHERE run = @run AND chunk = @chunk AND attempt = coalesce(
    (SELECT max(attempt) FROM uploads WHERE run = @run AND chunk = @chunk AND folio = @folio),
    (SELECT attempt FROM uploads
      WHERE run = @run AND chunk = @chunk AND attempt = @attempt AND state = 'ambiguous'),
    (SELECT max(attempt) FROM uploads WHERE run = @run AND chunk = @chunk AND state = 'ambiguous'),
    (SELECT max(attempt) FROM uploads WHERE run = @run AND chunk = @chunk AND state = 'accepted'))`;

/** Marks a run whose answer comes from the local service. */
export const MARK_REHEARSAL = 'UPDATE runs SET rehearsal = 1 WHERE id = @run';

/** Opens a run that was published, confirmed or withheld without the answer. */
export const REOPEN = `
  UPDATE runs SET state = 'open', publication = NULL, withheld = NULL, confirmed = NULL, finished_at = NULL
  WHERE id = @run AND state IN ('done', 'withheld')`;
