/**
 * Sources that are copied before they are read, with a state in Postgres: a run goes on on another machine with the copy
 * that it has read, and neither standard input nor a query is asked again.
 */
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { beforeAll, expect, it } from 'vitest';
import { loadConfig, submit } from '../../../pipelines/index.js';
import { queryDuckdb } from '../../helpers/duckdb/query-duckdb.js';
import { useSharedFolder } from '../../helpers/folders/folders.js';
import { sourceText } from '../../helpers/jobs/cli-job.js';
import { loseMachine, type Machine, openSite, type Site } from '../../helpers/postgres/machines.js';
import { type Database, usePostgres } from '../../helpers/postgres/postgres.js';
import { jsonLines } from '../../helpers/processes/cli.js';
import { useServe } from '../../helpers/service/serve.js';

const RECORDS = 60;
const CHUNKS = 6;
const folder = useSharedFolder();
const server = usePostgres();
const serve = useServe({ segmentRecords: 7 });
/** What is asked for a source. */
let asked: Database;
const query =
  'SELECT id, name AS "BusinessName", address AS "Address", state AS "State" FROM businesses ORDER BY id';

beforeAll(async () => {
  asked = await server.createDatabase();
});

const fillTable = () =>
  asked.query(
    `CREATE TABLE businesses AS SELECT id, 'Harbor Hardware ' || id AS name, id || ' Main St' AS address, 'MT' AS state
     FROM generate_series(1, ${RECORDS}) AS id`,
  );

const createSite = (pipeline: string, source: object, files: 'postgres' | 'folder' = 'postgres') =>
  openSite({
    parent: folder,
    server,
    baseUrl: serve.url,
    pipeline,
    files,
    records: RECORDS,
    chunks: CHUNKS,
    // No other upload is in flight when one is killed.
    settings: { source, concurrency: { uploads: 1 } },
  });

const askedSource = () => ({ path: null, query: { database: asked.url, sql: query } });

/** Hands in the text as standard input, and leaves the folios open. */
async function submitText({ args, env, folder: cwd }: Machine, text: string): Promise<void> {
  const config = await loadConfig({ files: [args[1]!], env, overrides: [], cwd });
  await submit(config, { stdin: Readable.from([text]) });
}

async function expectEnded(machine: Machine, ...words: string[]): Promise<void> {
  const ended = await machine.call(...words);
  expect(ended, ended.stderr).toMatchObject({ code: 0 });
}

const keptCopies = async ({ database }: Site) =>
  (await database.query("SELECT name FROM foliopipe.shared_files WHERE name LIKE 'spool/%'")).length;

/** How many uploads of a pipeline the service has accepted. */
const uploadsOf = async (pipeline: string) => (await serve.served(`${pipeline}-`)).length;

it('a query that was asked by a machine that is gone is not asked again', async () => {
  await fillTable();
  const unbroken = await createSite('unbroken', askedSource());
  await expectEnded(await unbroken.machine('only'), 'run');
  const site = await createSite('asked', askedSource());
  const first = await site.machine('first');
  await first.killed('after-accepted-before-poll:2', 'run');
  await loseMachine(site, first);
  await asked.query('DROP TABLE businesses');
  const second = await site.machine('second');
  await expectEnded(second, 'plan');
  await expectEnded(second, 'run');
  const output = await readFile(site.output, 'utf8');
  expect(output).toBe(await readFile(unbroken.output, 'utf8'));
  expect(await uploadsOf('asked')).toBe(CHUNKS);

  // What was bought is published on a third machine too.
  await loseMachine(site, second);
  await rm(site.output);
  await expectEnded(await site.machine('third'), 'publish', 'last');
  expect(await readFile(site.output, 'utf8')).toBe(output);

  // The next night has other rows: only its copy is kept. One that was damaged is made again, if the answer is the same.
  await fillTable();
  await asked.query('DELETE FROM businesses WHERE id > 50');
  const fourth = await site.machine('fourth');
  await expectEnded(fourth, 'submit');
  expect(await keptCopies(site)).toBe(1);
  await loseMachine(site, fourth);
  const damage = `UPDATE foliopipe.shared_pieces SET bytes = 'x' FROM foliopipe.shared_files AS f
    WHERE f.file = shared_pieces.file AND f.name LIKE 'spool/%'`;
  await site.database.query(damage);
  const fifth = await site.machine('fifth');
  const again = await fifth.call('run');
  expect(again).toMatchObject({ code: 0, stderr: expect.stringMatching(/is gone: asking for the source/) });
  await loseMachine(site, fifth);
  await asked.query('DROP TABLE businesses');
  await rm(site.output);
  await expectEnded(await site.machine('sixth'), 'publish', 'last');
});

it('standard input that a machine that is gone has read is collected elsewhere', async () => {
  const site = await createSite('piped', { path: '-' }, 'folder');
  const first = await site.machine('first');
  await submitText(first, sourceText(RECORDS));
  await loseMachine(site, first);
  const second = await site.machine('second');
  await expectEnded(second, 'collect');
  const output = await readFile(site.output, 'utf8');
  const plain = await createSite('plain', {});
  await expectEnded(await plain.machine('only'), 'run');
  expect(output).toBe(await readFile(plain.output, 'utf8'));
  // Without results to publish, no copy is needed.
  await expectEnded(second, 'runs', 'prune', '--older-than', '0s', '--yes');
  expect(await keptCopies(site)).toBe(0);

  // A state that is copied takes the copy of its unfinished run along.
  await submitText(second, sourceText(RECORDS - 10));
  await expectEnded(second, 'state', 'copy', '--to', join(second.folder, 'back'));
  const config = JSON.parse(await readFile(second.args[1]!, 'utf8')) as object;
  const inFolder = { ...config, state: null, files: 'postgres', stateDir: 'back' };
  await writeFile(second.args[1]!, JSON.stringify(inFolder));
  const collected = await second.call('collect', '--json');
  expect(collected, collected.stderr).toMatchObject({ code: 0 });
  expect(jsonLines(collected.stdout).at(-1)).toMatchObject({ counts: { read: RECORDS - 10 } });
});

it('a Parquet file is copied again by the machine that goes on', async () => {
  const shared = await folder();
  const path = join(shared, 'source.parquet');
  const rows = `SELECT 'Harbor ' || i AS "BusinessName", i || ' Main St' AS "Address", 'MT' AS "State"
    FROM range(${RECORDS}) AS t(i) ORDER BY i`;
  await queryDuckdb(':memory:', `COPY (${rows}) TO '${path}' (FORMAT parquet)`);
  const site = await createSite('columns', { path });
  const first = await site.machine('first');
  await expectEnded(first, 'submit');
  await loseMachine(site, first);
  await expectEnded(await site.machine('second'), 'run');
  expect(await uploadsOf('columns')).toBe(CHUNKS);
  expect(await keptCopies(site)).toBe(0);
});
