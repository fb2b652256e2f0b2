import { setTimeout as wait } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { noRows } from '../../../src/results/row-counts.js';
import type { MergedStretch } from '../../../src/stages/merge/merge-stretch.js';
import { smallTogether } from '../../../src/stages/publish/publish-output.js';
import { collect } from '../../helpers/stages/stage-run.js';

const columns = ['code'];

function stretch(record: number, changes: Partial<MergedStretch> = {}): MergedStretch {
  const end = { file: 0, offset: record };
  const counts = { ...noRows, successful: 1 };
  const bytes = Buffer.alloc(10);
  return { firstRecord: record, lastRecord: record, records: 1, end, counts, bytes, columns, ...changes };
}

/** The records of the stretches that are given together. */
async function groupsOf(source: AsyncIterable<MergedStretch>): Promise<number[][]> {
  const groups = await collect(smallTogether(source));
  return groups.map((some) => some.map(({ firstRecord }) => firstRecord));
}

it('gives small stretches together that come at the same time', async () => {
  const source = (async function* () {
    for (const record of [1, 2, 3]) yield stretch(record);
    await wait(200);
    for (const record of [4, 5]) yield stretch(record);
  })();
  expect(await groupsOf(source)).toEqual([
    [1, 2, 3],
    [4, 5],
  ]);
});

it('gives a large stretch without waiting for the next one', async () => {
  const bytes = Buffer.alloc(1024 * 1024);
  const source = (async function* () {
    yield stretch(1, { bytes });
    await wait(60);
    yield stretch(2);
    yield stretch(3, { bytes });
    yield stretch(4);
  })();
  expect(await groupsOf(source)).toEqual([[1], [2, 3], [4]]);
});

it('gives stretches apart that have other columns', async () => {
  const more = ['code', 'title'];
  const source = (async function* () {
    yield stretch(1);
    for (const record of [1, 2]) yield stretch(record, { columns: more });
  })();
  expect(await groupsOf(source)).toEqual([[1], [1, 2]]);
});

it('gives what came before an error, then throws it', async () => {
  const source = (async function* () {
    for (const record of [1, 2]) yield stretch(record);
    throw new Error('the next one does not match');
  })();
  const groups = smallTogether(source);
  expect((await groups.next()).value).toHaveLength(2);
  await expect(groups.next()).rejects.toThrow('does not match');
});

it('closes its source when its consumer ends', async () => {
  let isClosed = false;
  const source = (async function* () {
    try {
      for (let record = 1; ; record++) yield stretch(record, { bytes: Buffer.alloc(300_000) });
    } finally {
      isClosed = true;
    }
  })();
  for await (const _ of smallTogether(source)) break;
  expect(isClosed).toBe(true);
});
