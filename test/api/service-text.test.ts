/** Text of the service, made fit to be shown. */
import { expect, test } from 'vitest';
import { createServiceText } from '../../src/api/service-text.js';

const show = createServiceText({ reveal: () => 'a/b+c d' });

test.each([
  ['the token a/b+c d is bad', 'the token [token] is bad'],
  ['?token=a%2Fb%2Bc%20d&x', '?token=[token]&x'],
  ['?token=a%2Fb%2Bc+d&x', '?token=[token]&x'],
  ['{"token":"a\\/b+c d"}', '{"token":"[token]"}'],
  ['{"token":"a/b\\u002Bc d"}', '{"token":"[token]"}'],
  ['{"token":"a\\u002fb+c d"}', '{"token":"[token]"}'],
  ['<b>a&#x2F;b&#43;c d</b>', '<b>[token]</b>'],
  ['?next=%3Ftoken%3Da%252Fb%252Bc%2520d', '?next=%3Ftoken%3D[token]'],
  ['split a/b+c\u0000d', 'split [token]'],
  ['\u001b[31mred\u001b[0m\r\n\tnext\u202e', '[31mred [0m next'],
  ['  ', ''],
])('%j becomes %j', (text, shown) => {
  expect(show(text)).toBe(shown);
});

test('a long text is shortened after the token is hidden', () => {
  const shown = show(`${'x'.repeat(190)}a/b+c d${'y'.repeat(500)}`);
  expect(shown).toHaveLength(200);
  expect(shown).toBe(`${'x'.repeat(190)}[token]yy…`);
});

test('the empty token hides nothing', () => {
  expect(createServiceText({ reveal: () => '' })('abc')).toBe('abc');
});

test.each([
  ['x"y\\z&1', '{"t":"x\\"y\\\\z&1"} x&quot;y\\z&amp;1', '{"t":"[token]"} [token]'],
  ['ab==', '{"t":"ab\\u003d\\u003d"} ab%3D%3d', '{"t":"[token]"} [token]'],
])('the token %j is hidden however it is escaped', (token, text, shown) => {
  expect(createServiceText({ reveal: () => token })(text)).toBe(shown);
});
