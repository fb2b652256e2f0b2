/**
 * Late folios: a folio that a person has found, or that the service knows again, is bound to its chunk. Rounds, rows
 * and publications that were made without the chunk's answer are open again.
 */
import type { AcceptedReply, Checkpoint } from '../../checkpoint.js';
import { CheckpointStateError } from '../../checkpoint-state-error.js';
import { expectOneRow, type StateDatabase } from '../state-database.js';
import { UNMERGE_FOR_ANSWER } from './merges.js';

/** A chunk whose answer comes late. */
interface LateChunk {
  readonly round: number;
  readonly first: number;
}

/** Makes `recordAdopted` and `recordFound`. */
export function adoptionChanges(db: StateDatabase): Pick<Checkpoint, 'recordAdopted' | 'recordFound'> {
  const submit = db.prepare<[object], LateChunk>(`
    UPDATE chunks SET state = 'submitted', folio = @folio, submitted_at = @at, cause = NULL,
      successful = NULL, failed = NULL
    WHERE run = @run AND number = @chunk
      AND (state = 'ambiguous' OR state = 'unprocessed' AND cause IN ('AMBIGUOUS_HELD', 'FOLIO_LOST', 'FOLIO_ABANDONED'))
      AND EXISTS (SELECT 1 FROM runs WHERE id = @run AND state IN ('open', 'done', 'withheld'))
    RETURNING round, first_record AS first`);
  const forgetOtherParts = db.prepare(`
    DELETE FROM parts WHERE run = @run AND chunk = @chunk AND NOT EXISTS
      (SELECT 1 FROM chunks WHERE run = @run AND number = @chunk AND folio = @folio)`);
  const accept = db.prepare(`
    UPDATE uploads SET state = 'accepted', doubt = NULL, folio = @folio, local = @local,
      service_records = @serviceRecords, ended_at = @at
    WHERE run = @run AND chunk = @chunk AND attempt = coalesce(
      (SELECT max(attempt) FROM uploads WHERE run = @run AND chunk = @chunk AND folio = @folio),
      (SELECT max(attempt) FROM uploads WHERE run = @run AND chunk = @chunk AND state = 'ambiguous'),
      (SELECT max(attempt) FROM uploads WHERE run = @run AND chunk = @chunk AND state = 'accepted'))`);
  const submitAgain = db.prepare<[object], LateChunk>(`
    UPDATE chunks SET state = 'submitted', cause = NULL, successful = NULL, failed = NULL
    WHERE run = @run AND number = @chunk AND state = 'unprocessed' AND cause = 'FOLIO_LOST'
      AND folio IS NOT NULL
      AND EXISTS (SELECT 1 FROM runs WHERE id = @run AND state IN ('open', 'done', 'withheld')
        AND pruned_at IS NULL)
    RETURNING round, first_record AS first`);
  const unmerge = db.prepare(UNMERGE_FOR_ANSWER);
  const reopen = db.prepare(`
    UPDATE runs SET state = 'open', publication = NULL, withheld = NULL, confirmed = NULL, finished_at = NULL
    WHERE id = @run AND state IN ('done', 'withheld')`);
  const unsettleRounds = db.prepare('UPDATE runs SET round = min(round, @round - 1) WHERE id = @run');
  const markRehearsal = db.prepare('UPDATE runs SET rehearsal = 1 WHERE id = @run');

  /** Undoes what was made without the answer: merges from this chunk on, the end of its round, and the publication. */
  const reopenForAnswer = (run: string, { round, first }: LateChunk) => {
    unmerge.run({ run, fromRecord: round === 0 ? first : 1 });
    if (round > 0) unsettleRounds.run({ run, round });
    reopen.run({ run });
  };

  return {
    recordAdopted: db.change((run: string, chunk: number, reply: AcceptedReply, at: number) => {
      const { folio, serviceRecords, rehearsal } = reply;
      const missing = `no chunk ${chunk} of run ${run}, open, done or withheld, that may have been accepted, was lost or was given up`;
      forgetOtherParts.run({ run, chunk, folio });
      const adopted = submit.get({ run, chunk, folio, at });
      if (adopted === undefined) throw new CheckpointStateError('recordAdopted', missing);
      const local = rehearsal ? 1 : 0;
      expectOneRow(accept.run({ run, chunk, folio, local, serviceRecords, at }), 'recordAdopted', missing);
      reopenForAnswer(run, adopted);
      if (rehearsal) markRehearsal.run({ run });
    }),
    recordFound: db.change((run: string, chunk: number) => {
      const found = submitAgain.get({ run, chunk });
      if (found === undefined) {
        const missing = `no chunk ${chunk} of run ${run}, open, done or withheld, whose folio was lost`;
        throw new CheckpointStateError('recordFound', missing);
      }
      reopenForAnswer(run, found);
    }),
  };
}
