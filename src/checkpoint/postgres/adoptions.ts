/**
 * Late folios: a folio that a person has found, or that the service knows again, is bound to its chunk. Rounds, rows
 * and publications that were made without the chunk's answer are open again.
 */
import type { Query } from '../../postgres/session.js';
import { type Prepared, statement } from '../../postgres/statement.js';
import type { Checkpoint } from '../checkpoint.js';
import {
  ACCEPT_ADOPTED,
  FORGET_PARTS,
  type LateChunk,
  MARK_REHEARSAL,
  REOPEN,
  SUBMIT_ADOPTED,
  SUBMIT_FOUND,
} from '../rows/late-folios.js';
import { unmergeForAnswer } from './merges.js';
import { expectRow, type StateSession } from './state-session.js';

const submit: Prepared<LateChunk> = statement(SUBMIT_ADOPTED);
const forgetParts = statement(FORGET_PARTS);
const accept = statement(`${ACCEPT_ADOPTED} RETURNING attempt`);
const submitAgain: Prepared<LateChunk> = statement(SUBMIT_FOUND);
const reopen = statement(REOPEN);
const unsettleRounds = statement('UPDATE runs SET round = least(round, @round - 1) WHERE id = @run');
const markRehearsal = statement(MARK_REHEARSAL);

/** Makes `recordAdopted` and `recordFound`. */
export function adoptionChanges(db: StateSession): Pick<Checkpoint, 'recordAdopted' | 'recordFound'> {
  return {
    recordAdopted: (run, chunk, { folio, serviceRecords, rehearsal, attempt = null }, at) =>
      db.changes(async (query) => {
        const missing = `no chunk ${chunk} of run ${run}, open, done or withheld, that may have been accepted, was lost or was given up`;
        await query(forgetParts, { run, chunk, folio });
        const rows = await query(submit, { run, chunk, folio, at });
        const adopted = expectRow(rows, 'recordAdopted', missing);
        const reply = { attempt, folio, local: rehearsal ? 1 : 0, serviceRecords };
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
