/** The files of the local answer store: the secret, damage, leftovers, modes, sizes. */
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import type { AnswerStore } from '../../src/reuse/answer-store.js';
import { createLocalAnswerStore } from '../../src/reuse/local-answer-store.js';
import type { Choice, Segment } from '../../src/types.js';
import { useFolder } from '../helpers/folders/folders.js';
import {
  type Answered,
  addFolio,
  chooseFor,
  DAY,
  NOW,
  readChoice,
  segmentOptions,
  writeSegment,
} from '../helpers/reuse/nights.js';

const testFolder = useFolder();
let folder: string;
let store: AnswerStore;
beforeEach(async () => {
  folder = join(await testFolder(), 'state', 'reuse');
  store = createLocalAnswerStore(folder);
});

const people = (count: number, values = ['11', 'Farms']): Answered[] =>
  Array.from({ length: count }, (_, i) => ({ number: i + 1, sent: [`P${i}`, 'Rome'], values }));
const write = (records = people(20), id = 'R1-1') =>
  writeSegment(store, [{ folio: 'F1', answeredAt: NOW - DAY, records }], { id });
const asked = people(20).map(({ sent }) => sent);
const segmentPath = () => join(folder, 'segments', 'R1-1.seg');
const choicePath = () => join(folder, 'choices', 'R9.choice');

describe('the secret', () => {
  it('is made once, for its owner alone', async () => {
    await write();
    const secret = readFileSync(join(folder, 'secret'));
    expect(secret.length).toBe(32);
    expect(statSync(join(folder, 'secret')).mode & 0o777).toBe(0o600);
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    expect(statSync(segmentPath()).mode & 0o777).toBe(0o600);
    await write(people(1), 'R1-2');
    expect(readFileSync(join(folder, 'secret'))).toEqual(secret);
  });

  it('is the same for processes that make it at once', async () => {
    const stores = Array.from({ length: 8 }, () => createLocalAnswerStore(folder));
    const options = {
      fields: [1],
      delimiter: 44,
      sentColumns: ['a'],
      segments: [],
      duplicates: 'send' as const,
      skipsBlank: false,
    };
    const lookups = await Promise.all(stores.map((one) => one.openLookup(options)));
    await Promise.all(lookups.map((one) => one.close()));
    expect(readdirSync(folder).sort()).toEqual(['secret']);
  });

  it.each([
    ['missing', () => rmSync(join(folder, 'secret'))],
    ['cut', () => writeFileSync(join(folder, 'secret'), 'x')],
    ['another one', () => writeFileSync(join(folder, 'secret'), Buffer.alloc(32, 1))],
  ])('that is %s is never taken for a store without answers', async (_, damage) => {
    const segments = [await write()];
    damage();
    const lost = { code: 'REUSE_SECRET_LOST', facts: { file: join(folder, 'secret') } };
    await expect(chooseFor(store, asked, { segments })).rejects.toMatchObject(lost);
  });

  it('is removed if it is damaged, and no other', async () => {
    await store.removeDamagedSecret();
    await write();
    await store.removeDamagedSecret();
    expect(readFileSync(join(folder, 'secret')).length).toBe(32);
    writeFileSync(join(folder, 'secret'), 'x');
    await store.removeDamagedSecret();
    expect(readdirSync(folder)).toEqual(['segments']);
  });

  it('is not made anew beside segments', async () => {
    await write();
    rmSync(join(folder, 'secret'));
    await expect(store.openSegment(segmentOptions())).rejects.toMatchObject({ code: 'REUSE_SECRET_LOST' });
    expect(() => statSync(join(folder, 'secret'))).toThrow('ENOENT');
  });
});

it('a segment that two pipelines make of one run at once is whole, and nothing stays beside it', async () => {
  const other = createLocalAnswerStore(folder);
  const folio = { folio: 'F1', answeredAt: NOW - DAY, records: people(20) };
  const [one, same] = await Promise.all([store, other].map((made) => writeSegment(made, [folio])));
  expect(same).toEqual(one);
  expect(readdirSync(join(folder, 'segments'))).toEqual(['R1-1.seg']);
  const choice = await chooseFor(store, asked, { segments: [one!] });
  expect(choice).toMatchObject({ sent: 0, reused: { successful: 20, failed: 0 } });
});

describe('a damaged file', () => {
  /** Every byte of the file once wrong; and the file cut, and longer. */
  const damages = function* (path: string) {
    const whole = readFileSync(path);
    for (let at = 0; at < whole.length; at++) {
      const wrong = Buffer.from(whole);
      wrong[at]! ^= 0x10;
      yield wrong;
    }
    for (const size of [0, 1, 15, 16, whole.length - 1]) yield whole.subarray(0, size);
    yield Buffer.concat([whole, Buffer.from('x')]);
  };

  it('of a segment is an error that names it, wherever it is wrong', async () => {
    const segments: Segment[] = [await write(people(3))];
    const few = asked.slice(0, 3);
    for (const wrong of damages(segmentPath())) {
      writeFileSync(segmentPath(), wrong);
      await expect(chooseFor(store, few, { segments, run: null })).rejects.toMatchObject({
        code: 'REUSE_SEGMENT_DAMAGED',
        facts: { segment: 'R1-1', file: segmentPath() },
      });
    }
  });

  it('of a choice is an error that names its run, wherever it is wrong', async () => {
    const segments = [await write(people(2))];
    const records = [asked[0]!, ['new', 'x'], ['new', 'x'], asked[1]!];
    const choice: Choice = await chooseFor(store, records, { segments, duplicates: 'once' });
    for (const wrong of damages(choicePath())) {
      writeFileSync(choicePath(), wrong);
      await expect(readChoice(store, 'R9', choice)).rejects.toMatchObject({
        code: 'REUSE_CHOICE_DAMAGED',
        facts: { run: 'R9', file: choicePath() },
      });
    }
  });

  it('is also one that belongs to another row', async () => {
    const first = await write(people(3));
    const second = await write(people(4), 'R1-2');
    writeFileSync(segmentPath(), readFileSync(join(folder, 'segments', 'R1-2.seg')));
    const segments = [{ ...first, bytes: second.bytes, sha256: second.sha256 }];
    await expect(chooseFor(store, asked, { segments })).rejects.toMatchObject({
      code: 'REUSE_SEGMENT_DAMAGED',
    });
  });

  it('is also a folder in its place', async () => {
    const segments = [await write()];
    rmSync(segmentPath());
    mkdirSync(segmentPath());
    await expect(chooseFor(store, asked, { segments })).rejects.toMatchObject({
      code: 'REUSE_SEGMENT_DAMAGED',
    });
  });
});

it('lets signals and timers go on while a segment is written', async () => {
  const writer = await store.openSegment(segmentOptions());
  let isSeen = false;
  setImmediate(() => {
    isSeen = true;
  });
  await addFolio(writer, segmentOptions(), { folio: 'F1', answeredAt: NOW - DAY, records: people(10_000) });
  await writer.close();
  expect(isSeen).toBe(true);
});

describe('what is unfinished', () => {
  it('has no name, and is gone when it is closed', async () => {
    const writer = await store.openSegment(segmentOptions());
    expect(readdirSync(folder).sort()).toEqual(['secret', 'segments']);
    expect(readdirSync(join(folder, 'segments'))).toEqual([]);
    await writer.close();
    await writer.close();
    await expect(writer.finish()).rejects.toThrow();
    expect(readdirSync(join(folder, 'segments'))).toEqual([]);
  });

  it('is removed after a day if no row names it, and nothing else is', async () => {
    const segment = await write();
    await write(people(1), 'R1-2');
    await chooseFor(store, asked, { segments: [segment], run: 'R9' });
    await chooseFor(store, asked, { segments: [segment], run: 'R8' });
    for (const name of ['segments/R5-1.seg.tmp', 'choices/R5.choice.tmp', 'lost.tmp', 'secret-1']) {
      writeFileSync(join(folder, name), '');
    }
    const names = () => readdirSync(folder, { recursive: true, encoding: 'utf8' }).sort();
    const all = names();
    const known = { segments: new Set(['R1-1']), runs: new Set(['R9']) };
    await store.removeLeftovers(known);
    expect(names()).toEqual(all);
    const old = Date.now() / 1000 - 2 * 24 * 60 * 60;
    for (const name of all) utimesSync(join(folder, name), old, old);
    await store.removeLeftovers(known);
    const kept = ['choices', 'choices/R9.choice', 'secret', 'segments', 'segments/R1-1.seg'];
    expect(names()).toEqual(kept);
  });

  it('is no matter in a folder that does not exist', async () => {
    await store.removeLeftovers({ segments: new Set(), runs: new Set() });
    await store.removeChoice('R1');
    await store.removeSegment('R1-1');
  });
});

it('takes values and records of any size', async () => {
  const large = 'v'.repeat(300_000);
  const records = [
    { number: 1, sent: ['n'.repeat(200_000), 'Rome'], values: [large, '"'] },
    ...people(3, [large, 'x,y\r\nz']).map((one) => ({ ...one, number: one.number + 1 })),
  ];
  const segments = [await write(records)];
  const choice = await chooseFor(
    store,
    records.map(({ sent }) => sent),
    { segments },
  );
  const { reused } = await readChoice(store, 'R9', choice);
  expect([...reused.keys()]).toEqual([1, 2, 3, 4]);
  expect(reused.get(1)!.startsWith(`SUCCESSFUL,,,${large},"""" [`)).toBe(true);
  expect(reused.get(4)!.startsWith(`SUCCESSFUL,,,${large},"x,y\r\nz" [`)).toBe(true);
});

it.each([[['only']], [[]]])('keeps empty answers in the columns %j', async (columns) => {
  const records = [{ number: 1, sent: ['a', 'b'], values: columns.map(() => '') }];
  const folio = { folio: null, answeredAt: NOW - DAY, records };
  const segments = [await writeSegment(store, [folio], { columns })];
  const choice = await chooseFor(store, [['a', 'b']], { segments });
  const { reused } = await readChoice(store, 'R9', choice);
  expect(reused.get(1)).toBe(`SUCCESSFUL,,${','.repeat(columns.length)} ["R1",null,1,${NOW - DAY},1]`);
});

it('gives many records in their order, over blocks and lanes', async () => {
  const many = people(60_000);
  const folios = [0, 1, 2].map((part) => ({
    folio: `F${part}`,
    answeredAt: NOW - DAY,
    records: many.slice(part * 20_000, (part + 1) * 20_000),
  }));
  const segments = [await writeSegment(store, folios)];
  const records = [
    ...many.map(({ sent }) => sent).reverse(),
    ...people(40_000).map(({ number }) => [`N${number % 30_000}`, 'x']),
  ];
  const choice = await chooseFor(store, records, { segments, duplicates: 'once' });
  expect(choice).toMatchObject({
    sent: 30_000,
    duplicates: 10_000,
    reused: { successful: 60_000, failed: 0 },
  });
  const { sent, reused, byDouble } = await readChoice(store, 'R9', choice);
  expect(sent).toEqual(Array.from({ length: 30_000 }, (_, i) => 60_001 + i));
  expect(reused.size).toBe(60_000);
  expect(reused.get(1)).toContain('["R1","F2",1');
  expect(reused.get(60_000)).toContain('["R1","F0",1');
  expect(byDouble[0]).toEqual([60_001, 90_001]);
});
