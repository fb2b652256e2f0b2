import { describe, expect, it } from 'vitest';
import { escapeUnprintable, oneLine, shorten, showText } from '../src/text.js';

describe('quoted text', () => {
  it.each([
    ['a"b', '"a"b"'],
    ['a\r\n\tb', '"a\\u{d}\\u{a}\\u{9}b"'],
    ['\u{202e}evil\u{2028}', '"\\u{202e}evil\\u{2028}"'],
    ['0123456789ab', '"0123456789…"'],
    ['📒'.repeat(11), `"${'📒'.repeat(10)}…"`],
    ['📒'.repeat(10), `"${'📒'.repeat(10)}"`],
  ])('shows %j as %s', (text, shown) => {
    expect(showText(text, 10)).toBe(shown);
    expect(showText(Buffer.from(text), 10)).toBe(shown);
  });
});

it('unprintable characters are written as their codes, or those that are named', () => {
  expect(escapeUnprintable('a\u{1b}[1m\u{e000}\u{2028}')).toBe('a\\u{1b}[1m\\u{e000}\\u{2028}');
  expect(escapeUnprintable('a\u{1b}\u{e000}', /\p{Cc}/gu)).toBe('a\\u{1b}\u{e000}');
});

it('one line has single spaces, where only the named characters are gaps', () => {
  expect(oneLine(' a\r\n\tb\u{a0}\u{202e} c ')).toBe('a b c');
  expect(oneLine('\u{0}a  b\r\nc', /\p{Cc}+/gu)).toBe('a  b c');
});

it.each([
  ['12345', '12345'],
  ['123456', '1234…'],
])('%s shortened to 5 is %s', (text, short) => {
  expect(shorten(text, 5)).toBe(short);
});

it('a shortened text keeps as much as is asked for', () => {
  expect(shorten('123456', 5, { keep: 5, ellipsis: '...' })).toBe('12345...');
});
