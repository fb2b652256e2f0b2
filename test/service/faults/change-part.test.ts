/** What faults change in a part, and that everything else keeps its bytes. */
import { describe, expect, it } from 'vitest';
import { changePart } from '../../../src/service/faults/change-part.js';
import type { Fault } from '../../../src/service/faults/fault.js';

const HEADER = 'record_id,name,naics_code\n';
const RECORDS = ['1,"Bell, ""Bob""",111\n', '2,"Two\nLines",222\n', '3,,333\n', '4,Café,444\n'];

function change(fault: Fault, text = HEADER + RECORDS.join(''), seed: (string | number)[] = [7]): string {
  const half = Math.floor(text.length / 2);
  const pieces = [Buffer.from(text.slice(0, half)), Buffer.from(text.slice(half))];
  return Buffer.concat([...changePart(pieces, fault, seed)]).toString();
}

const linesOf = (text: string) => text.slice(HEADER.length).split(/(?<=\n)(?=\d|strange)/);

describe('changePart', () => {
  it('removes records, the same ones for the same seed', () => {
    const lines = linesOf(change({ records: { missing: 1 } }));
    expect(lines).toHaveLength(3);
    expect(RECORDS).toEqual(expect.arrayContaining(lines));
    expect(linesOf(change({ records: { missing: 1 } }))).toEqual(lines);
    const choices = [1, 2, 3, 4, 5, 6, 7, 8].map((seed) =>
      change({ records: { missing: 1 } }, undefined, [seed]),
    );
    expect(new Set(choices).size).toBeGreaterThan(1);
  });

  it('removes all records when there are no more', () => {
    expect(change({ records: { missing: 9 } })).toBe(HEADER);
    expect(change({ records: { missing: 1, doubled: 1 } }, HEADER)).toBe(HEADER);
  });

  it('doubles records in place, and never those that are missing', () => {
    const lines = linesOf(change({ records: { missing: 1, doubled: 3 } }));
    expect(lines).toHaveLength(6);
    expect(new Set(lines).size).toBe(3);
    expect(lines[0]).toBe(lines[1]);
  });

  it('shuffles without losing a record', () => {
    const lines = linesOf(change({ records: { shuffled: true } }));
    expect(lines).not.toEqual(RECORDS);
    expect([...lines].sort()).toEqual([...RECORDS].sort());
  });

  it('adds strange records, with numbers in number columns', () => {
    const added = linesOf(change({ records: { strange: 2 } })).slice(4);
    expect(added).toEqual(['999999998,strange 1,999999998\n', '999999997,strange 2,999999997\n']);
    expect(change({ records: { strange: 1 } }, HEADER)).toBe(`${HEADER}strange 1,strange 1,strange 1\n`);
  });

  it('gives each record the key of the next one', () => {
    expect(linesOf(change({ keys: 'shifted' }))).toEqual([
      '2,"Bell, ""Bob""",111\n',
      '3,"Two\nLines",222\n',
      '4,,333\n',
      '1,Café,444\n',
    ]);
    expect(change({ keys: 'shifted' }, HEADER)).toBe(HEADER);
  });

  it('renumbers the records after sorting them', () => {
    expect(linesOf(change({ keys: 'renumbered' }))).toEqual([
      '1,,333\n',
      '2,"Bell, ""Bob""",111\n',
      '3,"Two\nLines",222\n',
      '4,Café,444\n',
    ]);
  });

  it('renames, drops and adds columns', () => {
    const columns = {
      rename: { naics_code: 'code, new', none: 'x' },
      drop: ['record_id', 'none'],
      add: ['score'],
    };
    expect(change({ columns })).toBe(
      'name,"code, new",score\n"Bell, ""Bob""",111,added\n"Two\nLines",222,added\n,333,added\nCafé,444,added\n',
    );
  });

  it('writes a record whose only column is empty', () => {
    expect(change({ columns: { drop: ['record_id', 'naics_code'] } })).toContain('\n""\nCafé\n');
  });
});
