/** Reads of upload attempts: for the ledger, and for what the replies to a run have in common. */
import { type Prepared, statement } from '../../postgres/statement.js';
import type { CheckpointReader } from '../checkpoint.js';
import {
  IS_UNUSUAL,
  type StoredSum,
  type StoredUpload,
  toSum,
  toUpload,
  toUploadIfAny,
  UPLOAD_SUMS,
} from '../rows/paid-rows.js';
import type { StateSession } from './state-session.js';

const COLUMNS = `run, chunk, attempt, file_name AS "fileName", records, state, doubt, folio, local,
  service_records AS "serviceRecords", started_at AS "startedAt", ended_at AS "endedAt"`;

const ofChunk: Prepared<StoredUpload> = statement(
  `SELECT ${COLUMNS} FROM uploads WHERE run = @run AND chunk = @chunk ORDER BY attempt`,
);
// A page has all attempts of its chunks; the next page begins with the next chunk.
const pageOf = (condition: string): Prepared<StoredUpload> =>
  statement(`
  SELECT ${COLUMNS} FROM uploads
  WHERE run = @run AND chunk IN (SELECT DISTINCT chunk FROM uploads
    WHERE run = @run AND chunk > @after AND ${condition} ORDER BY chunk LIMIT @limit)
  ORDER BY chunk, attempt`);
const page = pageOf('true');
const unusual = pageOf(IS_UNUSUAL);
const sums: Prepared<StoredSum> = statement(UPLOAD_SUMS);
const misread: Prepared<StoredUpload> = statement(`
  SELECT ${COLUMNS} FROM uploads
  WHERE run = @run AND state = 'accepted' AND service_records <> records ORDER BY chunk, attempt LIMIT 1`);
// There is no index on the folio, because it would slow down every upload, and only an adoption reads by folio.
const ofFolio: Prepared<StoredUpload> = statement(`
  SELECT ${COLUMNS} FROM uploads
  WHERE folio = @folio AND run IN (SELECT id FROM runs WHERE service = @service)
  ORDER BY run COLLATE "C", chunk, attempt LIMIT 1`);
// The order of two uploads that ended in the same millisecond is unknown; the ambiguous one counts as later. An
// adopted folio proves that replies can be read, but not that the address is right. So for redirects the start time
// counts.
const doubts: Prepared<{ count: number }> = statement(`
  SELECT count(*) AS count FROM uploads
  WHERE run = @run AND state = 'ambiguous' AND doubt = @doubt AND ended_at >=
    (SELECT coalesce(max(CASE WHEN @doubt = 'redirected' THEN started_at ELSE ended_at END), 0) FROM uploads
      WHERE run = @run AND state = 'accepted')`);
const accepted = (local: number) =>
  `EXISTS (SELECT 1 FROM uploads WHERE run = @run AND state = 'accepted' AND local = ${local})`;
const kinds: Prepared<{ local: boolean; other: boolean; mixed: number | null }> = statement(`
  SELECT ${accepted(1)} AS local, ${accepted(0)} AS other, (SELECT mixed FROM runs WHERE id = @run) AS mixed`);

type UploadRead =
  | 'attempts'
  | 'uploads'
  | 'uploadSums'
  | 'unusualUploads'
  | 'misreadUpload'
  | 'uploadOf'
  | 'doubtsInRow'
  | 'replyKinds';

/** Makes the reads of attempts. */
export function uploadReads(db: StateSession): Pick<CheckpointReader, UploadRead> {
  return {
    uploadOf: async (service, folio) => toUploadIfAny((await db.read(ofFolio, { service, folio }))[0]),
    misreadUpload: async (run) => toUploadIfAny((await db.read(misread, { run }))[0]),
    doubtsInRow: async (run, doubt) => (await db.read(doubts, { run, doubt }))[0]!.count,
    replyKinds: async (run) => {
      const { local, other, mixed } = (await db.read(kinds, { run }))[0]!;
      return { local, other, mixed: mixed === 1 || (local && other) };
    },
    attempts: async (run, chunk) => (await db.read(ofChunk, { run, chunk })).map(toUpload),
    uploads: async (run, after, limit) => (await db.read(page, { run, after, limit })).map(toUpload),
    unusualUploads: async (run, after, limit) =>
      (await db.read(unusual, { run, after, limit })).map(toUpload),
    uploadSums: async (run) => (await db.read(sums, { run })).map(toSum),
  };
}
