/**
 * Decoded parts in Postgres, in the schema of the checkpoint. A part is written in pieces, each by a statement of its own,
 * so that no transaction waits for the service; the last statement names the part. Equal content is stored once, so that
 * a process that was paused replaces nothing.
 */
import { createHash, randomUUID } from 'node:crypto';
import { askFenced, type Fence, fenced, HELD } from '../../postgres/fenced.js';
import type { PostgresSession } from '../../postgres/session.js';
import { type Prepared, statement } from '../../postgres/statement.js';
import type { PartReference, StoredPart } from '../../types.js';
import { copyOf, createRecentParts } from '../local-run-files.js';
import { type ByteStream, DamagedPartError, type PartFiles, type PartStore } from '../run-files.js';
import { gzipPieces, unzippedSame } from '../write-gzipped.js';
import { PIECE_BYTES, readPieces } from './shared-pieces.js';

const addPiece = statement(`
  INSERT INTO part_pieces (run, file, piece, bytes) VALUES (@run, @file, @piece, @bytes) ON CONFLICT DO NOTHING`);
// A process without its lease names nothing: its successor may have removed the pieces before the last one.
const addLast = (onConflict: string) =>
  fenced<{ file: string }>(`
  named AS (
    INSERT INTO part_files (run, chunk, file_status, part, sha256, file, bytes)
    SELECT @run, @chunk::int8, @fileStatus, @part::int8, @sha256, @file, @total::int8 WHERE ${HELD}
    ON CONFLICT ${onConflict} RETURNING file)
  INSERT INTO part_pieces (run, file, piece, bytes)
  SELECT @run, file, @piece::int8, @bytes::bytea FROM named ON CONFLICT DO NOTHING RETURNING file`);
const addLastPiece = addLast('DO NOTHING');
// The pieces of the damaged part then have no name, and are removed at the next start.
const replaceDamaged = addLast(`(run, chunk, file_status, part, sha256)
      DO UPDATE SET file = excluded.file, bytes = excluded.bytes`);
const forgetPieces = statement(`
  DELETE FROM part_pieces AS old WHERE run = @run AND file = @file AND NOT EXISTS (
    SELECT 1 FROM part_files WHERE part_files.run = old.run AND part_files.file = old.file)`);
const filesIn = (table: string) =>
  `SELECT run, file FROM runs JOIN ${table} ON ${table}.run = runs.id WHERE runs.pipeline = @pipeline`;
// Both lists are read once: no index finds a file by its id, and a server without statistics would read all of a run for
// each piece.
const forgetUnnamed = fenced(`
  unnamed AS MATERIALIZED (${filesIn('part_pieces')} EXCEPT ${filesIn('part_files')}),
  gone AS (
    DELETE FROM part_pieces AS old USING unnamed
    WHERE old.run = unnamed.run AND old.file = unnamed.file AND ${HELD} RETURNING piece)
  SELECT (SELECT count(*) FROM gone) AS pieces FROM held`);

const OF_PART = `part_files.run = @run AND chunk = @chunk AND file_status = @fileStatus AND part = @part
  AND sha256 = @sha256`;
const readPiece: Prepared<{ bytes: Buffer }> = statement(`
  SELECT part_pieces.bytes FROM part_files, part_pieces
  WHERE ${OF_PART} AND part_pieces.run = part_files.run AND part_pieces.file = part_files.file
    AND piece = @piece`);
const removeOne = statement(`
  WITH gone AS (DELETE FROM part_files WHERE ${OF_PART} RETURNING run, file)
  DELETE FROM part_pieces USING gone WHERE part_pieces.run = gone.run AND part_pieces.file = gone.file`);
const sizeOfRun: Prepared<{ bytes: number | null }> = statement(
  'SELECT sum(bytes)::int8 AS bytes FROM part_files WHERE run = @run',
);
const forgetFiles = statement('DELETE FROM part_files WHERE run = @run');
const forgetAllPieces = statement('DELETE FROM part_pieces WHERE run = @run');
const allRuns: Prepared<{ run: string }> = statement('SELECT DISTINCT run FROM part_pieces');

/**
 * @param open gives the connection for parts; called when the first one is needed.
 * @param fence the lease, which must be held to name a part.
 */
export function createPostgresParts(open: () => Promise<PostgresSession>, fence: Fence): PartStore {
  return {
    ofRun: async (run) => createParts(run, await open(), fence),
    sizeOf: async (run) => (await (await open()).query(sizeOfRun, { run }, true))[0]!.bytes ?? undefined,
    remove: async (run) => {
      const db = await open();
      await db.query(forgetFiles, { run }, true);
      await db.query(forgetAllPieces, { run }, true);
    },
    runs: async () => {
      const db = await open();
      return (await db.query(allRuns, {}, true)).map(({ run }) => ({ run, location: db.place }));
    },
  };
}

/**
 * Removes the pieces of parts that a process of the pipeline has begun, and will not name any more. Called by the holder
 * of the lease before it writes a part.
 */
export async function removeUnnamedPieces(
  { openParts, fence }: { openParts(): Promise<PostgresSession>; readonly fence: Fence },
  pipeline: string,
): Promise<void> {
  await askFenced(await openParts(), fence, forgetUnnamed, { pipeline }, true);
}

function createParts(run: string, db: PostgresSession, fence: Fence): PartFiles {
  // The content under a hash never changes, so its stamp never does.
  const recent = createRecentParts(undefined, () => run);
  const named = (chunk: number, { fileStatus, part }: PartReference, sha256: string) => ({
    run,
    chunk,
    fileStatus,
    part,
    sha256,
  });

  return {
    writePart: async (chunk, part, content: ByteStream) => {
      const file = randomUUID();
      const hash = createHash('sha256');
      let [bytes, total, piece] = [0, 0, 0];
      let copy: Buffer | undefined;
      let waiting: Buffer[] = [];
      let waitingBytes = 0;
      const hashed = (one: Uint8Array) => {
        hash.update(one);
        // Only a part of a single piece is kept, because a part of several pieces is large.
        copy = bytes === 0 ? copyOf(one) : undefined;
        bytes += one.length;
      };
      const take = async (compressed: Buffer) => {
        if (waitingBytes >= PIECE_BYTES) {
          await db.query(addPiece, { run, file, piece, bytes: Buffer.concat(waiting) }, true);
          piece += 1;
          [waiting, waitingBytes] = [[], 0];
        }
        waiting.push(compressed);
        waitingBytes += compressed.length;
        total += compressed.length;
      };
      try {
        await gzipPieces(content, hashed, take);
        const sha256 = hash.digest('hex');
        const last = { ...named(chunk, part, sha256), file, piece, total, bytes: Buffer.concat(waiting) };
        const [added] = await askFenced(db, fence, addLastPiece, last, true);
        // The same content was stored before, and may be fetched again because it is damaged.
        const isReplaced =
          added === undefined && !(await isReadable(chunk, { ...part, sha256, bytes, records: 0 }));
        if (isReplaced) await askFenced(db, fence, replaceDamaged, last, true);
        else if (added === undefined && piece > 0) await db.query(forgetPieces, { run, file }, true);
        if (copy !== undefined) recent.keep(file, sha256, copy);
        return { bytes, sha256 };
      } catch (error) {
        if (piece > 0) await db.query(forgetPieces, { run, file }, true).catch(() => undefined);
        throw error;
      }
    },
    syncParts: async () => undefined,
    readPart: async function* (chunk, part) {
      yield recent.take('', part.sha256) ?? (await readStored(chunk, part));
    },
    removePart: async (chunk, part) => {
      recent.take('', part.sha256);
      await db.query(removeOne, named(chunk, part, part.sha256), true);
    },
  };

  async function readStored(chunk: number, part: StoredPart): Promise<Buffer> {
    const pieces: Buffer[] = [];
    for await (const piece of readPieces(db, readPiece, named(chunk, part, part.sha256))) pieces.push(piece);
    const compressed = pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces);
    try {
      return await unzippedSame(compressed, part);
    } catch (error) {
      throw new DamagedPartError(chunk, part, error);
    }
  }

  async function isReadable(chunk: number, part: StoredPart): Promise<boolean> {
    try {
      await readStored(chunk, part);
      return true;
    } catch (error) {
      if (error instanceof DamagedPartError) return false;
      throw error;
    }
  }
}
