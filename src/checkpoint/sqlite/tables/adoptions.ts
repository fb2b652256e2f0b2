/**
 * Late folios: a folio that a person has found, or that the service knows again, is bound to its chunk. Rounds, rows
 * and publications that were made without the chunk's answer are open again.
 */
import type { Checkpoint } from '../../checkpoint.js';
import { UNMERGE_FOR_ANSWER } from '../../rows/chunk-rows.js';
import {
  ACCEPT_ADOPTED,
  FORGET_PARTS,
  type LateChunk,
  MARK_REHEARSAL,
  REOPEN,
  SUBMIT_ADOPTED,
  SUBMIT_FOUND,
} from '../../rows/late-folios.js';
import { expectOneRow, expectRow, type StateDatabase } from '../state-database.js';

/** Makes `recordAdopted` and `recordFound`. */
export function adoptionChanges(db: StateDatabase): Pick<Checkpoint, 'recordAdopted' | 'recordFound'> {
  const submit = db.prepare<[object], LateChunk>(SUBMIT_ADOPTED);
  const forgetParts = db.prepare(FORGET_PARTS);
  const accept = db.prepare(ACCEPT_ADOPTED);
  const submitAgain = db.prepare<[object], LateChunk>(SUBMIT_FOUND);
  const unmerge = db.prepare(UNMERGE_FOR_ANSWER);
  const reopen = db.prepare(REOPEN);
  const unsettleRounds = db.prepare('UPDATE runs SET round = min(round, @round - 1) WHERE id = @run');
  const markRehearsal = db.prepare(MARK_REHEARSAL);

  /** Undoes what was made without the answer: merges from this chunk on, the end of its round, and the publication. */
  const reopenForAnswer = (run: string, { round, first }: LateChunk) => {
    unmerge.run({ run, fromRecord: round === 0 ? first : 1 });
    if (round > 0) unsettleRounds.run({ run, round });
    reopen.run({ run });
  };

  return {
    recordAdopted: db.change((run, chunk, reply, at) => {
      const { folio, serviceRecords, rehearsal, attempt = null } = reply;
      const missing = `no chunk ${chunk} of run ${run}, open, done or withheld, that may have been accepted, was lost or was given up`;
      forgetParts.run({ run, chunk, folio });
      const adopted = expectRow(submit.get({ run, chunk, folio, at }), 'recordAdopted', missing);
      const local = rehearsal ? 1 : 0;
      const values = { run, chunk, attempt, folio, local, serviceRecords, at };
      expectOneRow(accept.run(values), 'recordAdopted', missing);
      reopenForAnswer(run, adopted);
      if (rehearsal) markRehearsal.run({ run });
    }),
    recordFound: db.change((run, chunk) => {
      const missing = `no chunk ${chunk} of run ${run}, open, done or withheld, whose folio was lost`;
      reopenForAnswer(run, expectRow(submitAgain.get({ run, chunk }), 'recordFound', missing));
    }),
  };
}
