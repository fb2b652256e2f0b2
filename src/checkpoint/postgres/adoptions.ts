/**
 * Late folios: a folio that a person has found, or that the service knows again, is bound to its chunk. Rounds, rows
 * and publications that were made without the chunk's answer are open again.
 */
import type { Query } from '../../postgres/session.js';
import { type Prepared, statement } from '../../postgres/statement.js';
import type { Checkpoint } from '../checkpoint.js';
import { unmergeForAnswer } from './merges.js';
import { expectRow, type StateSession } from './state-session.js';

/** A chunk whose answer comes late. */
interface LateChunk {
  readonly round: number;
  readonly first: number;
}

const submit: Prepared<LateChunk> = statement(`
  UPDATE chunks SET state = 'submitted', folio = @folio, submitted_at = @at, cause = NULL,
    successful = NULL, failed = NULL
  WHERE run = @run AND number = @chunk
    AND (state = 'ambiguous' OR state = 'unprocessed' AND cause IN ('AMBIGUOUS_HELD', 'FOLIO_LOST', 'FOLIO_ABANDONED'))
    AND EXISTS (SELECT 1 FROM runs WHERE id = @run AND state IN ('open', 'done', 'withheld'))
  RETURNING round, first_record AS first`);
const forgetOtherParts = statement(`
  DELETE FROM parts WHERE run = @run AND chunk = @chunk AND NOT EXISTS
    (SELECT 1 FROM chunks WHERE run = @run AND number = @chunk AND folio = @folio)`);
const accept = statement(`
  UPDATE uploads SET state = 'accepted', doubt = NULL, folio = @folio, local = @local,
    service_records = @serviceRecords, ended_at = @at
  WHERE run = @run AND chunk = @chunk AND attempt = coalesce(
    (SELECT max(attempt) FROM uploads WHERE run = @run AND chunk = @chunk AND folio = @folio),
    (SELECT max(attempt) FROM uploads WHERE run = @run AND chunk = @chunk AND state = 'ambiguous'),
    (SELECT max(attempt) FROM uploads WHERE run = @run AND chunk = @chunk AND state = 'accepted'))
  RETURNING attempt`);
const submitAgain: Prepared<LateChunk> = statement(`
  UPDATE chunks SET state = 'submitted', cause = NULL, successful = NULL, failed = NULL
  WHERE run = @run AND number = @chunk AND state = 'unprocessed' AND cause = 'FOLIO_LOST'
    AND folio IS NOT NULL
    AND EXISTS (SELECT 1 FROM runs WHERE id = @run AND state IN ('open', 'done', 'withheld')
      AND pruned_at IS NULL)
  RETURNING round, first_record AS first`);
const reopen = statement(`
  UPDATE runs SET state = 'open', publication = NULL, withheld = NULL, confirmed = NULL, finished_at = NULL
  WHERE id = @run AND state IN ('done', 'withheld')`);
const unsettleRounds = statement('UPDATE runs SET round = least(round, @round - 1) WHERE id = @run');
const markRehearsal = statement('UPDATE runs SET rehearsal = 1 WHERE id = @run');

/** Makes `recordAdopted` and `recordFound`. */
export function adoptionChanges(db: StateSession): Pick<Checkpoint, 'recordAdopted' | 'recordFound'> {
  return {
    recordAdopted: (run, chunk, { folio, serviceRecords, rehearsal }, at) =>
      db.changes(async (query) => {
        const missing = `no chunk ${chunk} of run ${run}, open, done or withheld, that may have been accepted, was lost or was given up`;
        await query(forgetOtherParts, { run, chunk, folio });
        const rows = await query(submit, { run, chunk, folio, at });
        const adopted = expectRow(rows, 'recordAdopted', missing);
        const reply = { folio, local: rehearsal ? 1 : 0, serviceRecords };
        expectRow(await query(accept, { run, chunk, at, ...reply }), 'recordAdopted', missing);
        await reopenForAnswer(query, run, adopted);
        if (rehearsal) await query(markRehearsal, { run });
      }),
    recordFound: (run, chunk) =>
      db.changes(async (query) => {
        const missing = `no chunk ${chunk} of run ${run}, open, done or withheld, whose folio was lost`;
        const found = expectRow(await query(submitAgain, { run, chunk }), 'recordFound', missing);
        await reopenForAnswer(query, run, found);
      }),
  };
}

/** Undoes what was made without the answer: merges from this chunk on, the end of its round, and the publication. */
async function reopenForAnswer(query: Query, run: string, { round, first }: LateChunk): Promise<void> {
  await query(unmergeForAnswer, { run, fromRecord: round === 0 ? first : 1 });
  if (round > 0) await query(unsettleRounds, { run, round });
  await query(reopen, { run });
}
