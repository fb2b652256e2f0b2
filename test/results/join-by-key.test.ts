import { describe, expect, it } from 'vitest';
import { UntrustedError } from '../../src/errors.js';
import { joinByKey } from '../../src/results/join-by-key.js';
import { failed, successful, thrownBy } from '../helpers/csv/result-parts.js';

/** `part/result` of each record. */
function matchesOf(numbers: readonly number[], ...parts: Parameters<typeof joinByKey>[0]): string[] {
  const joined = joinByKey(parts, 'id', Int32Array.from(numbers));
  expect(joined.indistinct.size).toBe(0);
  return [...joined.part].map((part, i) => `${part}/${joined.result[i]}`);
}

describe('results', () => {
  it('find their records in any order, over any parts', () => {
    const parts = [
      successful('id,code\n4,a\n1,b\n'),
      failed('reason,id\nbad,3\n'),
      successful('code,id\nc,2\n', 1),
    ];
    expect(matchesOf([1, 2, 3, 4], ...parts)).toEqual(['0/1', '2/0', '1/0', '0/0']);
  });

  it('may have quoted numbers and CRLF, the number last', () => {
    const part = successful('code,id\r\n"a\r\nb","2"\r\nc,1\r\n');
    expect(matchesOf([1, 2], part)).toEqual(['0/1', '0/0']);
  });

  it('find records whose numbers have gaps, as where some were rejected', () => {
    const numbers = [5, 6, 9, 10, 30, 31, 99];
    const part = successful(`id,x\n${[...numbers].reverse().join(',x\n')},x\n`);
    expect(matchesOf(numbers, part)).toEqual(numbers.map((_, i) => `0/${numbers.length - 1 - i}`));
  });

  it('of numbers up to the largest are exact', () => {
    const numbers = [2 ** 31 - 2, 2 ** 31 - 1];
    expect(matchesOf(numbers, successful('id,x\n2147483647,x\n2147483646,x\n'))).toEqual(['0/1', '0/0']);
  });
});

describe('results that do not match', () => {
  const mismatches = (numbers: readonly number[], content: string) => {
    const error = thrownBy(() => joinByKey([successful(content)], 'id', Int32Array.from(numbers)));
    expect(error).toBeInstanceOf(UntrustedError);
    expect(error).toMatchObject({ code: 'RESULTS_DO_NOT_MATCH' });
    return (error as Error).message;
  };

  it('are named: missing', () => {
    expect(mismatches([7, 8, 9], 'id,x\n8,x\n')).toContain('2 results do not match');
    expect(mismatches([7, 8, 9], 'id,x\n8,x\n')).toContain('missing: record 7, record 9');
  });

  it('are named: doubled, in one part or two', () => {
    expect(mismatches([7, 8], 'id,x\n8,x\n7,x\n8,y\n')).toContain('doubled: record 8');
    const two = [successful('id,x\n7,x\n'), failed('id,x\n7,x\n')];
    expect(thrownBy(() => joinByKey(two, 'id', Int32Array.of(7)))).toMatchObject({
      message: expect.stringContaining('doubled: record 7'),
    });
  });

  it.each([
    '007',
    '+7',
    '7.0',
    '7e0',
    ' 7',
    '7 ',
    '',
    '""',
    '0',
    '-7',
    '6',
    '8',
    '70',
    'seven',
    '٧',
    '"7""7"',
  ])('are named: strange, such as %s', (key) => {
    expect(mismatches([7], `id,x\n7,x\n${key},x\n`)).toContain(
      '1 results do not match the records that were sent (strange: id ',
    );
  });

  // Counted as a digit, `A` would be 17, and `/` would be -1.
  it.each([
    [17, 'A'],
    [9, '1/'],
  ])('are named: strange, though its bytes add up to record %d: %s', (sent, key) => {
    expect(mismatches([sent], `id,x\n${key},x\n`)).toContain(`strange: id "${key}"`);
  });

  it('are named: strange, where the numbers have gaps', () => {
    expect(mismatches([5, 9], 'id,x\n5,x\n9,x\n7,x\n')).toContain('strange: id "7"');
  });

  it('are named: a number too long to be one', () => {
    expect(mismatches([7], 'id,x\n7,x\n10000000000000000000007,x\n')).toContain('strange');
    expect(mismatches([7], 'id,x\n7,x\n4294967303,x\n')).toContain('strange: id "4294967303"');
  });

  it('are counted all and shown three of a kind', () => {
    const message = mismatches([1, 2, 3, 4, 5], 'id,x\n1,x\n1,x\n1,x\n1,x\n1,x\n');
    expect(message).toContain('8 results');
    expect(message).toContain('missing: record 2, record 3, record 4)');
  });
});
