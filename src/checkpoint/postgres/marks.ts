/** The mark of a copied state (copy/copy-mark.ts) in Postgres: a row. */
import type { PostgresSession } from '../../postgres/session.js';
import { type Prepared, statement } from '../../postgres/statement.js';
import type { CopyMark } from '../copy/copy-mark.js';

const read: Prepared<{ mark: string }> = statement('SELECT mark FROM copy_marks');
const write = statement(`
  INSERT INTO copy_marks (one, mark) VALUES (true, @mark) ON CONFLICT (one) DO UPDATE SET mark = excluded.mark`);
const remove = statement('DELETE FROM copy_marks');

type Session = Pick<PostgresSession, 'query'>;

/** @returns undefined if there is no mark. */
export async function readMark(session: Session): Promise<CopyMark | undefined> {
  const [row] = await session.query(read, {}, true);
  return row && (JSON.parse(row.mark) as CopyMark);
}

/** Replaces the mark. */
export async function writeMark(session: Session, mark: CopyMark): Promise<void> {
  await session.query(write, { mark: JSON.stringify(mark) }, true);
}

export async function removeMark(session: Session): Promise<void> {
  await session.query(remove, {}, true);
}
