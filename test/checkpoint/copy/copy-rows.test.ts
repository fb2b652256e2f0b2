/** A copy is compared with the state that it was made from, table by table. */
import { expect, it } from 'vitest';
import {
  type CopiedRow,
  copyRows,
  type NewStateRows,
  type StateRows,
} from '../../../src/checkpoint/copy/copy-rows.js';

const state: StateRows = {
  read: async ({ name }, onPage) => {
    if (name === 'loads') await onPage([['run-1', '{}']]);
  },
};

/** A state that keeps what `change` makes of the rows. */
function copyThat(change: (rows: readonly CopiedRow[]) => readonly CopiedRow[]): NewStateRows {
  const kept = new Map<string, readonly CopiedRow[]>();
  return {
    write: async ({ name }, rows) => void kept.set(name, change(rows)),
    read: async ({ name }, onPage) => onPage(kept.get(name) ?? []),
  };
}

const copyTo = (copy: NewStateRows) => copyRows(state, copy, new AbortController().signal);

it('gives what each table holds', async () => {
  const sums = await copyTo(copyThat((rows) => rows));
  expect(sums.filter(({ rows }) => rows > 0)).toMatchObject([{ table: 'loads', rows: 1 }]);
});

it.each([
  ['a lost row', () => [], 'the copy is not the same: the table loads had 1 row, and then 0'],
  ['another value', () => [['run-1', '{ }']], 'the copy is not the same: the table loads has other values'],
])('tells %s', async (_, change, message) => {
  await expect(copyTo(copyThat(change))).rejects.toMatchObject({ code: 'STATE_COPY_DIFFERS', message });
});
