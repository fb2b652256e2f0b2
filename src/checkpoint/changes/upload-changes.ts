/** The life of an upload attempt. Its row and its chunk's state change together (law 2). */
import type { Doubt } from '../../types.js';
import type { AcceptedReply, Budget, Checkpoint, Upload } from '../checkpoint.js';
import { chunkRead } from '../reads/chunk-reads.js';
import type { StateDatabase } from '../state-database.js';
import { expectOne } from './expect-one.js';
import { spendChanges } from './spend.js';

type UploadMethod =
  | 'recordIntent'
  | 'recordAccepted'
  | 'recordDropped'
  | 'recordAmbiguous'
  | 'recordInterrupted'
  | 'recordMixed';

/** Makes the five changes between `cut` and `submitted`, and the mark of replies that contradict each other. */
export function uploadChanges(db: StateDatabase): Pick<Checkpoint, UploadMethod> {
  const spend = spendChanges(db);
  const chunkOf = chunkRead(db);
  const beginAttempt = db.prepare(`
    UPDATE chunks SET state = 'uploading', attempt = attempt + 1
    WHERE run = @run AND number = @chunk AND state IN ('cut', 'ambiguous')`);
  const begun = db.prepare<[{ run: string; chunk: number }], Pick<Upload, 'attempt' | 'records'>>(
    'SELECT attempt, records FROM chunks WHERE run = @run AND number = @chunk',
  );
  const insertUpload = db.prepare(`
    INSERT INTO uploads (run, chunk, attempt, file_name, records, started_at, day)
    VALUES (@run, @chunk, @attempt, @fileName, @records, @startedAt, @day)`);
  const intentOf = db.prepare<[{ run: string; chunk: number }], { records: number; day: string }>(
    "SELECT records, day FROM uploads WHERE run = @run AND chunk = @chunk AND state = 'intent'",
  );
  const endAttempt = db.prepare(`
    UPDATE uploads SET state = @state, doubt = @doubt, folio = @folio, local = @local,
      service_records = @serviceRecords, ended_at = @at
    WHERE run = @run AND chunk = @chunk AND state = 'intent'`);
  const submit = db.prepare(`
    UPDATE chunks SET state = 'submitted', folio = @folio, submitted_at = @at
    WHERE run = @run AND number = @chunk AND state = 'uploading'`);
  const markRehearsal = db.prepare('UPDATE runs SET rehearsal = 1 WHERE id = @run');
  // One of the replies came from a local service.
  const markMixed = db.prepare('UPDATE runs SET mixed = 1, rehearsal = 1 WHERE id = @run');
  const drop = db.prepare(`
    UPDATE chunks SET state = CASE
      WHEN EXISTS (SELECT 1 FROM uploads WHERE run = @run AND chunk = @chunk AND state = 'ambiguous')
      THEN 'ambiguous' ELSE 'cut' END
    WHERE run = @run AND number = @chunk AND state = 'uploading'`);
  const doubt = db.prepare(`
    UPDATE chunks SET state = 'ambiguous' WHERE run = @run AND number = @chunk AND state = 'uploading'`);
  const doubtAllChunks = db.prepare(`
    UPDATE chunks INDEXED BY chunks_by_state SET state = 'ambiguous'
    WHERE run = @run AND state = 'uploading'`);
  const doubtAllUploads = db.prepare(`
    UPDATE uploads INDEXED BY uploads_by_state SET state = 'ambiguous', doubt = 'no-reply'
    WHERE run = @run AND state = 'intent'`);

  const doubtAllSearches = db.prepare(`
    UPDATE searches INDEXED BY searches_by_state SET state = 'ambiguous'
    WHERE run = @run AND state = 'intent'`);

  const notUploading = (run: string, chunk: number) => `no chunk ${chunk} of run ${run} that is uploading`;
  const nothingAccepted = { folio: null, local: null, serviceRecords: null };
  const endOne = (method: string, end: { run: string; chunk: number; [column: string]: unknown }) =>
    expectOne(endAttempt.run(end), method, notUploading(end.run, end.chunk));

  return {
    recordIntent: db.change(
      (
        run: string,
        chunk: number,
        fileName: (attempt: number) => string,
        at: number,
        budget: Budget,
      ): Upload => {
        const missing = `no chunk ${chunk} of run ${run} that is cut or ambiguous`;
        expectOne(beginAttempt.run({ run, chunk }), 'recordIntent', missing);
        const { attempt, records } = begun.get({ run, chunk })!;
        const upload = { run, chunk, attempt, fileName: fileName(attempt), records, startedAt: at };
        insertUpload.run({ ...upload, day: budget.day });
        spend.take(run, records, budget);
        return { ...upload, ...nothingAccepted, state: 'intent', doubt: null, endedAt: null };
      },
    ),
    recordAccepted: db.change((run: string, chunk: number, reply: AcceptedReply, at: number) => {
      const { folio, serviceRecords, rehearsal } = reply;
      const missing = notUploading(run, chunk);
      expectOne(submit.run({ run, chunk, folio, at }), 'recordAccepted', missing);
      const local = rehearsal ? 1 : 0;
      const end = { run, chunk, state: 'accepted', doubt: null, folio, local, serviceRecords, at };
      endOne('recordAccepted', end);
      if (rehearsal) markRehearsal.run({ run });
      return chunkOf(run, chunk)!;
    }),
    recordDropped: db.change((run: string, chunk: number, at: number) => {
      const missing = notUploading(run, chunk);
      expectOne(drop.run({ run, chunk }), 'recordDropped', missing);
      const intent = intentOf.get({ run, chunk });
      endOne('recordDropped', { run, chunk, state: 'dropped', doubt: null, ...nothingAccepted, at });
      spend.giveBack(run, intent!.records, intent!.day);
    }),
    recordAmbiguous: db.change((run: string, chunk: number, at: number, why: Doubt) => {
      const missing = notUploading(run, chunk);
      expectOne(doubt.run({ run, chunk }), 'recordAmbiguous', missing);
      endOne('recordAmbiguous', { run, chunk, state: 'ambiguous', doubt: why, ...nothingAccepted, at });
    }),
    recordMixed: db.change((run: string) => {
      expectOne(markMixed.run({ run }), 'recordMixed', `no run ${run}`);
    }),
    recordInterrupted: db.change((run: string) => {
      doubtAllUploads.run({ run });
      doubtAllSearches.run({ run });
      return doubtAllChunks.run({ run }).changes;
    }),
  };
}
