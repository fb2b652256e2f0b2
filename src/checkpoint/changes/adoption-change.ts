/** A folio seen elsewhere becomes the answer to an upload of which nobody knew. */
import type { AcceptedReply, Checkpoint } from '../checkpoint.js';
import { CheckpointStateError } from '../checkpoint-state-error.js';
import type { StateDatabase } from '../state-database.js';
import { expectOne } from './expect-one.js';
import { UNMERGE_FOR_ANSWER } from './merge-changes.js';

/** Makes `recordAdopted`. */
export function adoptionChange(db: StateDatabase): Pick<Checkpoint, 'recordAdopted'> {
  const submit = db.prepare<[object], { round: number; first: number }>(`
    UPDATE chunks SET state = 'submitted', folio = @folio, submitted_at = @at, cause = NULL
    WHERE run = @run AND number = @chunk
      AND (state = 'ambiguous' OR state = 'unprocessed' AND cause = 'AMBIGUOUS_HELD')
      AND EXISTS (SELECT 1 FROM runs WHERE id = @run AND state IN ('open', 'done'))
    RETURNING round, first_record AS first`);
  const accept = db.prepare(`
    UPDATE uploads SET state = 'accepted', doubt = NULL, folio = @folio, local = @local,
      service_records = @serviceRecords, ended_at = @at
    WHERE run = @run AND chunk = @chunk AND attempt =
      (SELECT max(attempt) FROM uploads WHERE run = @run AND chunk = @chunk AND state = 'ambiguous')`);
  const unmerge = db.prepare(UNMERGE_FOR_ANSWER);
  const reopen = db.prepare(`
    UPDATE runs SET state = 'open', publication = NULL, finished_at = NULL WHERE id = @run AND state = 'done'`);
  const unsettle = db.prepare('UPDATE runs SET round = min(round, @round - 1) WHERE id = @run');
  const markRehearsal = db.prepare('UPDATE runs SET rehearsal = 1 WHERE id = @run');

  return {
    recordAdopted: db.change((run: string, chunk: number, reply: AcceptedReply, at: number) => {
      const { folio, serviceRecords, rehearsal } = reply;
      const missing = `no chunk ${chunk} of run ${run}, open or done, that may have been accepted`;
      const adopted = submit.get({ run, chunk, folio, at });
      if (adopted === undefined) throw new CheckpointStateError('recordAdopted', missing);
      const local = rehearsal ? 1 : 0;
      expectOne(accept.run({ run, chunk, folio, local, serviceRecords, at }), 'recordAdopted', missing);
      unmerge.run({ run, fromRecord: adopted.round === 0 ? adopted.first : 1 });
      if (adopted.round > 0) unsettle.run({ run, round: adopted.round });
      reopen.run({ run });
      if (rehearsal) markRehearsal.run({ run });
    }),
  };
}
