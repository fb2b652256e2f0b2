/** A database whose encoding cannot store every text: its first failure would come when a reply has been paid for. */
import { expect, it } from 'vitest';
import { expectWritable } from '../../../src/checkpoint/postgres/expect-writable.js';
import { openPostgresState } from '../../../src/checkpoint/postgres/open-postgres-state.js';
import { DatabaseAddress } from '../../../src/config/sections/load-section.js';
import { hintOf } from '../../../src/hints.js';
import { usePostgres } from '../../helpers/postgres/postgres.js';

const server = usePostgres();

/** The address of a new database with this encoding. */
async function createEncoded(encoding: string): Promise<DatabaseAddress> {
  const { url, query } = await server.createDatabase();
  const { pathname } = new URL(url);
  const name = `${pathname.slice(1)}_${encoding.toLowerCase()}`;
  await query(
    `CREATE DATABASE ${name} ENCODING '${encoding}' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0`,
  );
  return new DatabaseAddress(url.replace(pathname, `/${name}`));
}

it('is refused by a check and by a run, which makes no tables', async () => {
  const address = await createEncoded('LATIN1');
  for (const attempt of [expectWritable, openPostgresState, openPostgresState]) {
    const error = await attempt(address).catch((thrown) => thrown);
    expect(error).toMatchObject({ code: 'STATE_DATABASE_ENCODING', exitCode: 2 });
    expect(error.message).toContain('has the encoding LATIN1');
    expect(hintOf(error)).toContain('createdb --encoding=UTF8');
  }
});

it('is taken where it stores all bytes as they are sent', async () => {
  const address = await createEncoded('SQL_ASCII');
  await expectWritable(address);
  await (await openPostgresState(address)).close();
});
