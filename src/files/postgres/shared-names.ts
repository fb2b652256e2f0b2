/**
 * Shared files whose names are rows in Postgres. The content is written first, under an id of its own; the statement that
 * names it proves the lease. So a process that was paused, and lost its lease, changes no file, wherever contents are.
 */
import { createHash, randomUUID } from 'node:crypto';
import { TroubleError } from '../../errors.js';
import { askFenced, type Fence, fenced, HELD } from '../../postgres/fenced.js';
import type { PostgresSession } from '../../postgres/session.js';
import { epochMs, type Prepared, statement } from '../../postgres/statement.js';
import { type HashedFile, hashFile } from '../../streams/file-identity.js';
import type { SharedContents, SharedFile, SharedFiles } from '../shared-files.js';
import { createFolderContents } from '../shared-folder.js';
import { createPieceContents, IS_WHOLE } from './shared-pieces.js';

const COLUMNS = `name, file, folder, bytes, sha256,
  ${epochMs('clock_timestamp() - written_at')} AS age`;
const byName: Prepared<SharedFile> = statement(`SELECT ${COLUMNS} FROM shared_files WHERE name = @name`);
const beginningWith: Prepared<SharedFile> = statement(
  `SELECT ${COLUMNS} FROM shared_files WHERE starts_with(name, @beginning) ORDER BY name`,
);
const named: Prepared<{ file: string }> = statement(`
  SELECT file FROM shared_files WHERE file IN (SELECT jsonb_array_elements_text(@files::text::jsonb))`);
const inFolder = statement('SELECT 1 FROM shared_files WHERE folder = @folder LIMIT 1');

type Content = Pick<SharedFile, 'file' | 'folder'>;

/** @param onConflict what becomes of a file that has the name already. */
const naming = (onConflict: string) =>
  fenced<{ oldFile: string | null; oldFolder: string | null }>(`
  before AS (SELECT file, folder FROM shared_files WHERE name = @name AND ${HELD}),
  named AS (
    INSERT INTO shared_files (name, file, folder, bytes, sha256)
    SELECT @name, @file, @folder, @bytes::int8, @sha256 WHERE ${HELD} AND ${IS_WHOLE}
    ON CONFLICT (name) DO ${onConflict} RETURNING name)
  SELECT before.file AS "oldFile", before.folder AS "oldFolder" FROM named LEFT JOIN before ON true`);
const replace = naming(`UPDATE SET file = excluded.file, folder = excluded.folder, bytes = excluded.bytes,
      sha256 = excluded.sha256, written_at = excluded.written_at`);
const keepFirst = naming('NOTHING');
const unname = fenced<{ file: string | null; folder: string | null }>(`
  gone AS (DELETE FROM shared_files WHERE name = @name AND ${HELD} RETURNING file, folder)
  SELECT gone.file, gone.folder FROM held LEFT JOIN gone ON true`);

/** Where shared files are. */
interface SharedPlace {
  /** Gives the connection; called when it is needed. */
  open(): Promise<PostgresSession>;
  /** The database, without secrets, for messages. */
  readonly place: string;
  /** The lease, which must be held to change a name. */
  readonly fence: Fence;
  /** The folder for new contents, which all machines see; null if contents are in the database. */
  readonly folder: string | null;
}

export function createSharedFiles({ open, place, fence, folder }: SharedPlace): SharedFiles {
  const pieces = createPieceContents(open);
  /** The ids of this state's contents begin so. Another state may use the same folder, and does not know their names. */
  const own = `${createHash('sha256').update(place).digest('hex').slice(0, 12)}-`;
  const isOfOther = (file: string) => OF_A_STATE.test(file) && !file.startsWith(own);
  /** A file stays where it was written, also after the setting was changed. */
  const contentsIn = (where: string | null): SharedContents => {
    if (where === null) return pieces;
    const isUsed = async () => (await (await open()).query(inFolder, { folder: where }, true)).length > 0;
    return createFolderContents(where, isUsed);
  };
  const removeContent = ({ file, folder: where }: Content) => contentsIn(where).remove([file]);

  const removeUnnamed = async (contents: SharedContents, files: readonly string[]) => {
    const rows = await (await open()).query(named, { files: JSON.stringify(files) }, true);
    const kept = new Set(rows.map(({ file }) => file));
    await contents.remove(files.filter((file) => !kept.has(file)));
  };

  const put = async (name: string, path: string, isFirst: boolean): Promise<HashedFile> => {
    const content: Content = { file: `${own}${randomUUID()}`, folder };
    try {
      const identity = { bytes: 0, sha256: '' };
      const pieceCount = await contentsIn(folder).write(content.file, async (append) => {
        const found = await hashFile(path, append);
        if (found === undefined) throw new Error(`${path} is missing`);
        Object.assign(identity, found);
      });
      const values = { name, ...content, ...identity, pieces: pieceCount };
      const [row] = await askFenced(await open(), fence, isFirst ? keepFirst : replace, values, true);
      if (row === undefined && !isFirst) throw incomplete(place, name);
      if (row === undefined) await removeUnnamed(contentsIn(folder), [content.file]);
      else if (row.oldFile !== null && row.oldFile !== content.file) {
        await removeContent({ file: row.oldFile, folder: row.oldFolder });
      }
      return identity;
    } catch (error) {
      // The content may have its name although the reply to the statement was lost.
      await removeUnnamed(contentsIn(folder), [content.file]).catch(() => undefined);
      throw error;
    }
  };

  return {
    place,
    find: async (name) => (await (await open()).query(byName, { name }, true))[0],
    list: async (beginning) => (await open()).query(beginningWith, { beginning }, true),
    put: (name, path) => put(name, path, false),
    putFirst: async (name, path) => void (await put(name, path, true)),
    read: ({ file, folder: where }) => contentsIn(where).read(file),
    remove: async (names) => {
      const db = await open();
      for (const name of names) {
        const [gone] = await askFenced(db, fence, unname, { name }, true);
        if (gone?.file) await removeContent({ file: gone.file, folder: gone.folder });
      }
    },
    removeUnnamed: async (age) => {
      for (const contents of folder === null ? [pieces] : [pieces, contentsIn(folder)]) {
        const old = await contents.olderThan(age);
        await removeUnnamed(
          contents,
          contents.folder === null ? old : old.filter((file) => !isOfOther(file)),
        );
      }
    },
  };
}

/** The id of a content, if it names a state. A mere UUID begins differently. */
const OF_A_STATE = /^[0-9a-f]{12}-/;

function incomplete(place: string, name: string): TroubleError {
  return new TroubleError(
    'STATE_DATABASE_FAILED',
    `${place}: ${name} was not stored: pieces of it were removed before it was complete`,
    { facts: { database: place, file: name } },
  );
}
