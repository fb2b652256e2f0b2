import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import {
  escapeUnprintable,
  oneLine,
  safeJson,
  safeJsonText,
  safeLines,
  shorten,
  showText,
  typedText,
} from '../src/text.js';

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

it('text that is typed into a config is read there as it is, and each of its characters can be seen', () => {
  const character = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.constantFrom('\u{a0}', '\u{feff}', '"', '\\', '\n'),
  );
  fc.assert(
    fc.property(fc.array(character), (characters) => {
      const text = characters.join('');
      const typed = typedText(text);
      expect(parse(`name: ${typed}`)).toEqual({ name: text });
      expect(typed).not.toMatch(/(?! )[\p{C}\p{Z}]/u);
    }),
  );
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

describe('what is shown on a terminal', () => {
  /** Escape sequences, C1 controls such as CSI (U+009B), and what turns the direction of a text around. */
  const hostile = /[^\P{Cc}\n\t]|[\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/u;
  const text = fc
    .array(
      fc.oneof(
        fc.string({ unit: 'binary', maxLength: 5 }),
        fc.integer({ min: 0, max: 0x9f }).map((code) => String.fromCharCode(code)),
        fc.constantFrom('\u061c', '\u200e', '\u202e', '\u2028', '\u2066', '\u2069', '\ud800', '\u{e0001}'),
      ),
      { maxLength: 12 },
    )
    .map((pieces) => pieces.join(''));

  it('has no character that could act on it, and keeps its lines', () => {
    fc.assert(
      fc.property(text, (given) => {
        const shown = safeLines(given);
        expect(shown).not.toMatch(hostile);
        expect(shown.match(/[\n\t]/g)).toEqual(given.match(/[\n\t]/g));
        expect(safeLines(shown)).toBe(shown);
      }),
    );
    expect(safeLines('Zamora, Inc.\tBenoît 日本 📒\n')).toBe('Zamora, Inc.\tBenoît 日本 📒\n');
  });

  it('has none as JSON, and a reader gets the same value', () => {
    fc.assert(
      fc.property(fc.dictionary(text, text), fc.constantFrom(0, 2), (given, indent) => {
        const json = safeJson(given, indent);
        expect(json).not.toMatch(hostile);
        expect(JSON.parse(json)).toEqual(given);
        expect(safeJsonText(JSON.stringify(given))).toBe(safeJson(given));
      }),
    );
  });
});
