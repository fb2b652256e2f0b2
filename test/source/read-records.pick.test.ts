import { expect, test } from 'vitest';
import { scanRecords } from '../../src/csv/scan-records.js';
import type { Batch } from '../../src/csv/table.js';
import { pickRecords } from '../../src/source/read-records.js';
import { recordsOf } from '../helpers/csv/batches.js';

/** Records 1 to 6, in a batch of three and one of two; record 4 is bad. */
function batches(seen: number[] = []): AsyncGenerator<Batch> {
  const scan = (text: string, firstRecord: number) =>
    scanRecords([Buffer.from(text)], {
      delimiter: ',',
      fields: 2,
      maxRecordBytes: 100,
      file: 0,
      base: 0,
      firstRecord,
    });
  return (async function* () {
    for (const batches of [scan('a,1\n"b,b",2\nc,3\nbad\n', 1), scan('e,5\nf,6\n', 5)]) {
      for await (const batch of batches) {
        seen.push(batch.numbers[0]!);
        yield batch;
      }
    }
  })();
}

async function picked(numbers: readonly (readonly number[])[], seen?: number[]) {
  const found: [number[], string[]][] = [];
  for await (const batch of pickRecords(batches(seen), numbers)) {
    found.push([[...batch.numbers], recordsOf(batch).map(({ values }) => values.join('|'))]);
  }
  return found;
}

test.each([
  {
    numbers: [[1, 2, 3, 5, 6]],
    found: [
      [
        [1, 2, 3],
        ['a|1', 'b,b|2', 'c|3'],
      ],
      [
        [5, 6],
        ['e|5', 'f|6'],
      ],
    ],
  },
  {
    numbers: [[2], [3, 6]],
    found: [
      [[2], ['b,b|2']],
      [[3], ['c|3']],
      [[6], ['f|6']],
    ],
  },
  {
    numbers: [[1, 3]],
    found: [
      [
        [1, 3],
        ['a|1', 'c|3'],
      ],
    ],
  },
  {
    numbers: [[], [3, 4, 5], [9]],
    found: [
      [[3], ['c|3']],
      [[5], ['e|5']],
    ],
  },
  { numbers: [[4], [5]], found: [[[5], ['e|5']]] },
  { numbers: [], found: [] },
])('$numbers are picked, and nothing else', async ({ numbers, found }) => {
  expect(await picked(numbers)).toEqual(found);
});

test('nothing is read after the last record that is wanted', async () => {
  const seen: number[] = [];
  await picked([[1], [2]], seen);
  expect(seen).toEqual([1]);
});

test('the batches are closed after it', async () => {
  const read = batches();
  for await (const { count } of pickRecords(read, [[1]])) expect(count).toBe(1);
  expect(await read.next()).toMatchObject({ done: true });
});

test('the next numbers are asked for only when those before them are given', async () => {
  const asked: number[] = [];
  const numbers = function* () {
    for (const number of [2, 5]) {
      asked.push(number);
      yield [number];
    }
  };
  const found = pickRecords(batches(), numbers());
  expect((await found.next()).value).toMatchObject({ numbers: Int32Array.of(2), count: 1 });
  expect(asked).toEqual([2]);
  await found.return(undefined);
  expect(asked).toEqual([2]);
});
