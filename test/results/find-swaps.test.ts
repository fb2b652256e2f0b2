import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { groupBy, groupsWithEqual } from '../../src/results/find-swaps.js';

const groupsOf = (rows: readonly (readonly string[])[], indexes: readonly number[]) =>
  groupsWithEqual(
    (rows[0] ?? []).map((_, column) => (index: number) => rows[index]![column]!),
    Int32Array.from(indexes),
  );

describe('records with equal texts', () => {
  it('are those that have all texts in common; a group of one is none', () => {
    const rows = [
      ['Bakery', 'OH'],
      ['Harbor', 'OH'],
      ['Bakery', 'OH'],
      ['Bakery', 'NY'],
      ['Harbor', 'OH'],
    ];
    expect(groupsOf(rows, [0, 1, 2, 3, 4])).toEqual([
      [0, 2],
      [1, 4],
    ]);
    expect(groupsOf(rows, [0, 1, 3])).toEqual([]);
    expect(groupsOf(rows, [])).toEqual([]);
  });

  it('differ where a character moves from the end of one text to the start of the next', () => {
    const rows = [
      ['ab', 'c'],
      ['a', 'bc'],
    ];
    expect(groupsOf(rows, [0, 1])).toEqual([]);
  });

  it('are the groups that a Map of all texts finds', () => {
    const text = fc.constantFrom('', 'a', 'b', 'ab', 'ba', 'ß', '😀');
    const rows = fc.array(fc.tuple(text, text), { maxLength: 40 });
    fc.assert(
      fc.property(rows, (table) => {
        const all = table.map((_, index) => index);
        const expected = [...groupBy(all, (index) => JSON.stringify(table[index])).values()];
        const byFirst = (groups: readonly (readonly number[])[]) => [...groups].sort((a, b) => a[0]! - b[0]!);
        expect(byFirst(groupsOf(table, all))).toEqual(byFirst(expected.filter(({ length }) => length > 1)));
      }),
    );
  });
});
