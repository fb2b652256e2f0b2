/** The programs of examples/programs, run against the local service. */
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import { type Config, parseConfig } from 'foliopipe';
import { openService, parseFaults, type Service } from 'foliopipe/service';
import pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { enrichIntoTable } from '../../../examples/programs/custom-sink.js';
import { enrichAndBook } from '../../../examples/programs/custom-stage.js';
import { fillCodes } from '../../../examples/programs/database-cursor.js';
import { createEndpoint } from '../../../examples/programs/http-endpoint.js';
import { handle, type Message } from '../../../examples/programs/queue-consumer.js';
import { openSqlite } from '../../../src/sqlite-driver.js';
import { useFolder } from '../../helpers/folders/folders.js';
import { fineNames, predictedCode } from '../../helpers/jobs/local-job.js';
import { usePostgres } from '../../helpers/postgres/postgres.js';

const folderOf = useFolder();
const names = fineNames(25);
const csv = `id,name,state\n${names.map((name, at) => `b${at + 1},${name},MT\n`).join('')}`;
const rule = (text: string) => parseFaults(`rules: [{ ${text} }]`);

let service: Service;
let paidBefore: number;
beforeAll(async () => {
  service = await openService({ predictor: 'hash' });
});
beforeEach(() => {
  service.setFaults(undefined);
  paidBefore = service.uploads().length;
});
afterAll(() => service.close());

/** How many records this test has paid for. */
const paid = () =>
  service
    .uploads()
    .slice(paidBefore)
    .reduce((sum, { records }) => sum + records, 0);

async function configOf(section: { source?: object } = {}, pipeline = 'programs'): Promise<Config> {
  const folder = await folderOf();
  await writeFile(join(folder, 'source.csv'), csv);
  return parseConfig(
    {
      pipeline,
      source: { path: 'source.csv' },
      upload: { columns: { name: 'name', state: 'state' } },
      service: { embedded: true, requestsPerSecond: 10_000 },
      chunks: { maxRecords: 10 },
      poll: { first: '5ms', max: '20ms' },
      retry: { first: '5ms', giveUpAfter: '100ms' },
      output: { path: `${pipeline}.csv` },
      stateDir: 'state',
      ...section,
    },
    folder,
  );
}

/** The rows of an output, by the column `id`. */
const codesOf = (text: string) =>
  Object.fromEntries(
    (parse(text, { columns: true }) as Record<string, string>[]).map((row) => [
      row.id,
      row.prediction_naics_code,
    ]),
  );
const expected = Object.fromEntries(names.map((name, at) => [`b${at + 1}`, predictedCode(name)]));

describe('an HTTP endpoint', () => {
  it('answers a posted CSV with its rows; a client that goes can post it again and pays once', async () => {
    const config = await configOf({ source: { onChange: 'supersede' } });
    const server = createEndpoint(() => config, { endpoint: service }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/nightly`;
    const post = (body: string, signal?: AbortSignal) =>
      fetch(url, { method: 'POST', body, ...(signal && { signal }) });

    const malformed = await post('id,name,state\n1,"never closed,MT\n');
    expect(malformed.status).toBe(422);
    expect(await malformed.json()).toMatchObject({ code: 'SOURCE_QUOTE_NOT_CLOSED' });
    const unfit = await post('id,title,state\n1,Missoula Bakery,MT\n');
    expect(unfit.status).toBe(422);
    expect(await unfit.text()).not.toContain(config.stateDir);
    expect(paid()).toBe(0);

    service.setFaults(rule('on: track, fault: { neverFinishes: true }'));
    const controller = new AbortController();
    const left = post(csv, controller.signal).catch((error: Error) => error.name);
    await expect.poll(paid).toBe(25);
    controller.abort();
    expect(await left).toBe('AbortError');
    service.setFaults(undefined);
    // The run that was left still holds its lock for a moment.
    let answer = await post(csv);
    while (answer.status === 409) answer = await post(csv);
    expect(codesOf(await answer.text())).toEqual(expected);
    expect(codesOf(await (await post(csv)).text())).toEqual(expected);
    expect(paid()).toBe(25);

    // A client that goes for good: the next one, with another CSV, does not wait for it.
    service.setFaults(rule('on: track, fault: { neverFinishes: true }'));
    const gone = new AbortController();
    const leaving = post(csv.replaceAll('MT', 'WA'), gone.signal).catch((error: Error) => error.name);
    await expect.poll(paid).toBe(50);
    gone.abort();
    await leaving;
    service.setFaults(undefined);
    let next = await post(csv.replaceAll('MT', 'ID'));
    while (next.status === 409) next = await post(csv.replaceAll('MT', 'ID'));
    expect(codesOf(await next.text())).toEqual(expected);
    expect(paid()).toBe(75);
    server.close();
  });
});

describe('a stage of one’s own', () => {
  it('sees each folio, and stops the run where it throws, which goes on later', async () => {
    const config = await configOf();
    const booked = new Map<string, number>();
    const full = enrichAndBook(config, () => Promise.reject(new Error('the books are closed')), {
      endpoint: service,
    });
    await expect(full).rejects.toThrow('the books are closed');
    const summary = await enrichAndBook(
      config,
      async ({ folio, records }) => void booked.set(folio, records),
      { endpoint: service },
    );
    expect(summary).toMatchObject({ exitCode: 0, counts: { successful: 25 } });
    expect([...booked.keys()].sort()).toEqual(
      service
        .uploads()
        .slice(paidBefore)
        .map(({ folio }) => folio)
        .sort(),
    );
    expect(paid()).toBe(25);
    expect(codesOf(await readFile(config.output.path, 'utf8'))).toEqual(expected);
  });
});

describe('a sink of one’s own', () => {
  it('has whole chunks after an error, and all rows once after the next start', async () => {
    const config = await configOf();
    const db = openSqlite(':memory:');
    const saved = () =>
      db.prepare<[], { count: number }>('SELECT count(*) AS count FROM businesses').get()!.count;
    service.setFaults(rule('on: download, folio: 3, fault: { status: 500 }'));
    await expect(enrichIntoTable(config, db, { endpoint: service })).rejects.toMatchObject({ exitCode: 5 });
    expect([0, 10, 20]).toContain(saved());
    service.setFaults(undefined);
    expect(await enrichIntoTable(config, db, { endpoint: service })).toMatchObject({ state: 'done' });
    const rows = db.prepare<[], { id: string; code: string }>('SELECT id, code FROM businesses').all();
    expect(Object.fromEntries(rows.map(({ id, code }) => [id, code]))).toEqual(expected);
    expect(paid()).toBe(25);
    db.close();
  });
});

describe('a queue’s consumer', () => {
  it('submits now and collects later, with messages that come twice', async () => {
    const config = await configOf();
    const waiting: Message[] = [];
    const queue = { send: async (message: Message) => void waiting.push(message) };
    const deliver = (message: Message) => handle(message, queue, () => config, { endpoint: service });
    service.setFaults(rule('on: track, fault: { neverFinishes: true }'));
    const order: Message = { task: 'submit', file: 'source.csv' };
    await deliver(order);
    await deliver(order);
    expect(waiting.map(({ task }) => task)).toEqual(['collect', 'collect']);
    expect(await deliver(waiting.shift()!)).toBeUndefined();
    expect(waiting).toHaveLength(2);
    service.setFaults(undefined);
    await expect.poll(() => deliver(waiting[0]!)).toMatchObject({ exitCode: 0, counts: { successful: 25 } });
    expect(await deliver(waiting[1]!)).toMatchObject({ found: 'done' });
    expect(paid()).toBe(25);
    expect(codesOf(await readFile(config.output.path, 'utf8'))).toEqual(expected);
  });
});

describe('a cursor of a database', () => {
  const server = usePostgres();
  let client: pg.Client;
  afterAll(async () => {
    await client?.end();
  });

  it('fills in the codes that are missing; an error leaves the table as it was and pays once', async () => {
    const database = await server.createDatabase();
    await database.query('CREATE TABLE businesses (id text PRIMARY KEY, name text, state text, code text)');
    for (const [at, name] of names.entries()) {
      await database.query('INSERT INTO businesses VALUES ($1, $2, $3)', [`b${at + 1}`, name, 'MT']);
    }
    await database.query("UPDATE businesses SET code = 'known' WHERE id = 'b7'");
    const codes = async () =>
      Object.fromEntries(
        (await database.query('SELECT * FROM businesses')).map(({ id, code }) => [id, code]),
      );
    const config = await configOf({ source: {} });
    client = new pg.Client(database.url);
    await client.connect();
    service.setFaults(rule('on: download, folio: 2, fault: { status: 500 }'));
    await expect(fillCodes(config, client, { endpoint: service })).rejects.toMatchObject({ exitCode: 5 });
    expect(Object.values(await codes()).filter((code) => code !== null)).toEqual(['known']);
    service.setFaults(undefined);
    expect(await fillCodes(config, client, { endpoint: service })).toMatchObject({ state: 'done' });
    expect(await codes()).toEqual({ ...expected, b7: 'known' });
    expect(paid()).toBe(24);
  });
});

it.each(['http-endpoint', 'custom-stage', 'custom-sink', 'database-cursor', 'queue-consumer'])(
  '%s has less than 60 lines',
  async (name) => {
    const text = await readFile(new URL(`../../../examples/programs/${name}.ts`, import.meta.url), 'utf8');
    expect(text.trimEnd().split('\n').length).toBeLessThan(60);
  },
);
