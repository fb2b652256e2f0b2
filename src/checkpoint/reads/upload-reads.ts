/** Upload attempts: what the ledger is made of. */
import type { CheckpointReader, Upload } from '../checkpoint.js';
import type { StateDatabase } from '../state-database.js';

/** A row selected by `uploadColumns` is an `Upload` as it stands. */
export type UploadRow = Upload;

export const uploadColumns = `run, chunk, attempt, file_name AS fileName, records, state, folio,
  service_records AS serviceRecords, started_at AS startedAt, ended_at AS endedAt`;

/** Makes the reads of attempts. */
export function uploadReads(
  db: StateDatabase,
): Pick<CheckpointReader, 'uploads' | 'misreadUpload' | 'uploadOf'> {
  // Pages end between chunks: a page that divided a chunk's attempts could not be gone on from.
  const page = db.prepare<[{ run: string; after: number; limit: number }], UploadRow>(`
    SELECT ${uploadColumns} FROM uploads
    WHERE run = @run AND chunk IN
      (SELECT DISTINCT chunk FROM uploads WHERE run = @run AND chunk > @after ORDER BY chunk LIMIT @limit)
    ORDER BY chunk, attempt`);
  const misread = db.prepare<[{ run: string }], UploadRow>(`
    SELECT ${uploadColumns} FROM uploads
    WHERE run = @run AND state = 'accepted' AND service_records <> records ORDER BY chunk LIMIT 1`);
  // No index on the folio: only a person who adopts one asks, and every upload would pay for it.
  const ofFolio = db.prepare<[{ service: string; folio: string }], UploadRow>(`
    SELECT ${uploadColumns} FROM uploads
    WHERE folio = @folio AND run IN (SELECT id FROM runs WHERE service = @service)
    ORDER BY run, chunk, attempt LIMIT 1`);

  return {
    uploadOf: db.read((service: string, folio: string) => ofFolio.get({ service, folio })),
    misreadUpload: db.read((run: string) => misread.get({ run })),
    uploads: db.read((run: string, after: number, limit: number) => page.all({ run, after, limit })),
  };
}
