/** Deltas of tables with many rows in each bucket, in order and in any other order. */
import { createHash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { computeDelta, type DeltaOptions } from '../../src/delta/compute-delta.js';
import type { DeltaStore } from '../../src/delta/delta-store.js';
import { RowSet } from '../../src/delta/row-set.js';
import { naiveDelta, readRows } from '../helpers/csv/apply-delta.js';
import { shuffled } from '../helpers/csv/generated-csv.js';
import { useFolder } from '../helpers/folders/folders.js';
import { createMemoryDeltaStore } from '../helpers/memory/memory-delta-store.js';

const folder = useFolder();
const columns = ['id', 'value'];
const ROWS = 20_000;

type Rows = readonly (readonly [id: number, value: string])[];
const base: Rows = Array.from({ length: ROWS }, (_, id) => [id, `value ${id}`]);
const write = (rows: Rows) =>
  `id,value\n${rows.map(([id, value]) => `${id % 3 === 0 ? `"${id}"` : id},${value}\n`).join('')}`;

async function compute(store: DeltaStore, rows: Rows, changes: Partial<DeltaOptions> = {}) {
  const path = join(await folder(), 'out.csv');
  const csv = write(rows);
  await writeFile(path, csv);
  const pieces: Buffer[] = [];
  const options: DeltaOptions = {
    store,
    pipeline: 'p',
    last: await store.last('p'),
    key: ['id'],
    table: { path, columns, keyFields: [0], answerFields: [1] },
    folder: await folder(),
    sha256: createHash('sha256').update(csv).digest('hex'),
    changeColumn: 'change',
    signal: new AbortController().signal,
    onDigests: () => undefined,
    ...changes,
  };
  const delta = await computeDelta(options, (piece) => pieces.push(Buffer.from(piece)));
  const publication = (options.last?.publication ?? 0) + 1;
  const { sha256, key } = options;
  await store.recordLast('p', { publication, sha256, key, columns, digests: delta.digests });
  return { delta, rows: readRows(Buffer.concat(pieces)).slice(1), written: Buffer.concat(pieces) };
}

const texts = (rows: Rows) => rows.map(([id, value]) => [`${id}`, value]);
/** Compared much faster than lists. */
const lines = (rows: readonly (readonly string[])[]) => rows.map((row) => row.join(',')).join('\n');

it('of an output with other columns has each row as changed whose key was there, and names those that are gone', async () => {
  const store = createMemoryDeltaStore();
  await compute(store, [
    [1, 'a'],
    [2, 'b'],
  ]);
  const table = { columns: ['id', 'name'], keyFields: [0], answerFields: [1] };
  const other = { ...table, path: join(await folder(), 'out.csv') };
  const { delta, rows } = await compute(store, [[1, 'a']], { table: other });
  expect(delta).toMatchObject({
    reason: 'columns',
    base: { publication: 1 },
    added: 0,
    changed: 1,
    removed: 1,
  });
  expect(lines(rows)).toBe('1,a,changed\n2,,removed');
});

it('looks for drift only among the records that were sent again', async () => {
  const store = createMemoryDeltaStore();
  const sent = new RowSet(5);
  for (const row of [0, 1, 2]) sent.add(row);
  const drift = { columns: ['status'], sent };
  await compute(store, [
    [1, 'SUCCESSFUL'],
    [2, 'SUCCESSFUL'],
    [5, 'SUCCESSFUL'],
  ]);
  // 3 and 4 are new, and 5 has another answer: of these, 3 alone was sent.
  const ended = ['FAILED', 'SUCCESSFUL', 'SUCCESSFUL', 'SUCCESSFUL', 'FAILED'];
  const { delta } = await compute(
    store,
    ended.map((status, at) => [at + 1, status]),
    { drift },
  );
  expect(delta.drift).toEqual({ compared: 2, changed: 1, columns: { status: 1 } });
});

it('takes no record for drifted that had no answer, or has none now', async () => {
  const store = createMemoryDeltaStore();
  const status = (before: boolean) => (id: number) => {
    if (id < 10) return before ? 'UNPROCESSED' : 'SUCCESSFUL';
    if (id < 15) return before ? 'SUCCESSFUL' : 'UNPROCESSED';
    return id < 18 && before ? 'FAILED' : 'SUCCESSFUL';
  };
  const rows = (before: boolean): Rows =>
    Array.from({ length: 100 }, (_, id) => [id, status(before)(id)] as const);
  const drift = { columns: ['status'], sent: undefined };
  await compute(store, rows(true), { drift });
  const { delta } = await compute(store, rows(false), { drift });
  expect(delta).toMatchObject({ changed: 18, drift: { compared: 85, changed: 3, columns: { status: 3 } } });
});

describe('a delta', () => {
  it.each<[string, Rows]>([
    ['the same rows', base],
    [
      'single rows removed, changed and added',
      base.flatMap(
        ([id, value]): Rows =>
          id % 11 === 3
            ? []
            : id % 13 === 5
              ? [[id, 'new']]
              : id % 17 === 7
                ? [
                    [id, value],
                    [ROWS + id, 'x'],
                  ]
                : [[id, value]],
      ),
    ],
    ['many rows removed one after the other', base.filter(([id]) => id < 2_000 || id > 15_000)],
    ['another order', shuffled(base, 3)],
    ['another order and a tenth of the rows', shuffled(base, 5).filter(([id]) => id % 10 === 0)],
    ['the other way round', base.toReversed()],
    ['no common row', base.map(([id, value]) => [id + ROWS, value])],
  ])('of %s is the plain difference, there and back', async (_, other) => {
    const store = createMemoryDeltaStore();
    await compute(store, base);
    const there = await compute(store, other);
    expect(lines(there.rows)).toBe(lines(naiveDelta(texts(base), texts(other), [0])));
    const back = await compute(store, base);
    expect(lines(back.rows)).toBe(lines(naiveDelta(texts(other), texts(base), [0])));
    const { sha256, bytes } = back.delta;
    expect(bytes).toBe(back.written.length);
    expect(sha256).toBe(createHash('sha256').update(back.written).digest('hex'));
  });

  it('is the same each time, whatever the secret of the hashes', async () => {
    const [one, other] = [createMemoryDeltaStore(), createMemoryDeltaStore()];
    const nights = [base, shuffled(base.slice(100), 1)];
    for (const rows of nights) {
      const [first, second] = [await compute(one, rows), await compute(other, rows)];
      expect(second.written.equals(first.written)).toBe(true);
      expect(second.delta).toEqual(first.delta);
    }
  });

  it('stops when it is told to', async () => {
    const controller = new AbortController();
    controller.abort(new Error('stop'));
    const computing = compute(createMemoryDeltaStore(), base, { signal: controller.signal });
    await expect(computing).rejects.toThrow('stop');
  });

  it('of an output that cannot be read is an error that names the row', async () => {
    const store = createMemoryDeltaStore();
    const computing = compute(store, [
      [1, 'a'],
      [2, 'b,c'],
    ]);
    await expect(computing).rejects.toMatchObject({ code: 'OUTPUT_UNREADABLE', facts: { record: 2 } });
  });
});
