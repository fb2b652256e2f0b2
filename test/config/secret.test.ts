import { format, inspect } from 'node:util';
import { expect, test } from 'vitest';
import { Secret } from '../../src/config/secret.js';

const secret = new Secret('hunter2');

test('reveals its value to who asks for it', () => {
  expect(secret.reveal()).toBe('hunter2');
});

test.each([
  ['template literal', `${secret}`],
  ['String()', String(secret)],
  ['joined to a text', ['a', secret].join()],
  ['JSON', JSON.stringify({ token: secret })],
  ['util.inspect', inspect({ deep: { token: secret } }, { depth: 9, showHidden: true })],
  ['util.format', format('%s %o %j', secret, secret, secret)],
  ['own properties', JSON.stringify(Object.entries(secret))],
])('is not shown by %s', (_, text) => {
  expect(text).not.toContain('hunter2');
});
