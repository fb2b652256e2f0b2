import { expect, it } from 'vitest';
import { epochMs, statement, valuesOf } from '../../src/postgres/statement.js';

const holders = statement(
  `SELECT ${epochMs('until')} AS until FROM leases WHERE a = @name OR b = @at OR c = @name`,
);

it('a statement has a number for each name, and times as milliseconds', () => {
  expect(holders).toMatchObject({
    text: 'SELECT (extract(epoch FROM until) * 1000)::float8 AS until FROM leases WHERE a = $1 OR b = $2 OR c = $1',
    keys: ['name', 'at'],
  });
  expect(statement(holders.text).name).not.toBe(holders.name);
});

it('its values stand in the order of its numbers, and none may be missing', () => {
  expect(valuesOf(holders, { at: null, name: 'nightly', other: 1 })).toEqual(['nightly', null]);
  expect(() => valuesOf(holders, { name: 'nightly' })).toThrow('no value for at in: SELECT');
});
