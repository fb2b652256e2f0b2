/** The contents of shared files in Postgres, in pieces, each written on its own. */
import type { PostgresSession } from '../../postgres/session.js';
import { type Prepared, statement } from '../../postgres/statement.js';
import type { SharedContents } from '../shared-files.js';

/** Bytes of a row: few rows for a large file, and little memory for many at once. */
export const PIECE_BYTES = 1024 * 1024;

const addPiece = statement(
  'INSERT INTO shared_pieces (file, piece, bytes) VALUES (@file, @piece, @bytes) ON CONFLICT DO NOTHING',
);
const readPiece: Prepared<{ bytes: Buffer }> = statement(
  'SELECT bytes FROM shared_pieces WHERE file = @file AND piece = @piece',
);
const removeFile = statement('DELETE FROM shared_pieces WHERE file = @file');
const old: Prepared<{ file: string }> = statement(`
  SELECT DISTINCT file FROM shared_pieces
  WHERE written_at < clock_timestamp() - @age::float8 * interval '1 millisecond'`);

/** The condition that all pieces of a content are stored. */
export const IS_WHOLE = '(SELECT count(*) FROM shared_pieces WHERE file = @file) = @pieces::int8';

/** @param open gives the connection; called when it is needed. */
export function createPieceContents(open: () => Promise<PostgresSession>): SharedContents {
  return {
    folder: null,
    write: async (file, fill) => {
      const db = await open();
      const piece = Buffer.allocUnsafe(PIECE_BYTES);
      let filled = 0;
      let pieces = 0;
      const flush = async () => {
        await db.query(addPiece, { file, piece: pieces, bytes: piece.subarray(0, filled) }, true);
        pieces += 1;
        filled = 0;
      };
      await fill(async (bytes) => {
        for (let at = 0; at < bytes.length; ) {
          const taken = Math.min(bytes.length - at, PIECE_BYTES - filled);
          piece.set(bytes.subarray(at, at + taken), filled);
          at += taken;
          filled += taken;
          if (filled === PIECE_BYTES) await flush();
        }
      });
      if (filled > 0) await flush();
      return pieces;
    },
    read: async function* (file) {
      yield* readPieces(await open(), readPiece, { file });
    },
    remove: async (files) => {
      const db = await open();
      for (const file of files) await db.query(removeFile, { file }, true);
    },
    olderThan: async (age) => (await (await open()).query(old, { age }, true)).map(({ file }) => file),
  };
}

/** Reads all pieces of a content, each in a query of its own. Most contents have a single one. */
export async function* readPieces(
  db: Pick<PostgresSession, 'readBytes'>,
  one: Prepared<{ bytes: Buffer }>,
  values: Readonly<Record<string, string | number>>,
): AsyncGenerator<Buffer> {
  for (let piece = 0; ; piece += 1) {
    const bytes = await db.readBytes(one, { ...values, piece });
    if (bytes !== undefined) yield bytes;
    if (bytes === undefined || bytes.length < PIECE_BYTES) return;
  }
}
