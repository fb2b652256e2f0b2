/** Upload attempts: what the ledger is made of. */
import type { CheckpointReader, Upload } from '../checkpoint.js';
import type { StateDatabase } from '../state-database.js';

/** A row selected by `uploadColumns` is an `Upload` as it stands. */
export type UploadRow = Upload;

export const uploadColumns = `run, chunk, attempt, file_name AS fileName, records, state, folio,
  service_records AS serviceRecords, started_at AS startedAt, ended_at AS endedAt`;

/** Makes the reads of attempts. */
export function uploadReads(db: StateDatabase): Pick<CheckpointReader, 'uploads' | 'misreadUpload'> {
  // Pages end between chunks: a page that divided a chunk's attempts could not be gone on from.
  const page = db.prepare<[{ run: string; after: number; limit: number }], UploadRow>(`
    SELECT ${uploadColumns} FROM uploads
    WHERE run = @run AND chunk IN
      (SELECT DISTINCT chunk FROM uploads WHERE run = @run AND chunk > @after ORDER BY chunk LIMIT @limit)
    ORDER BY chunk, attempt`);
  const misread = db.prepare<[{ run: string }], UploadRow>(`
    SELECT ${uploadColumns} FROM uploads
    WHERE run = @run AND state = 'accepted' AND service_records <> records ORDER BY chunk LIMIT 1`);

  return {
    misreadUpload: db.read((run: string) => misread.get({ run })),
    uploads: db.read((run: string, after: number, limit: number) => page.all({ run, after, limit })),
  };
}
