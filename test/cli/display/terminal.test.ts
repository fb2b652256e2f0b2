/** What a terminal shows, by a small model of one: a screen of lines with a cursor. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cellsOf, createTerminal, cutToCells } from '../../../src/cli/display/terminal.js';

// The control character would be a literal one in the pattern.
const token = new RegExp(`${String.fromCharCode(27)}\\[(\\d*)([A-Z])|[\\s\\S]`, 'gu');

/** Understands what the block writes: text, line feed, carriage return, cursor up, erase. Line feed returns, as on a tty. */
function screen(columns = 80, rows = 24, env: { TERM?: string } = { TERM: 'xterm' }, isTTY = true) {
  let lines: string[] = [''];
  let row = 0;
  let column = 0;
  let wraps = 0;
  const put = (character: string) => {
    if (column === columns) {
      wraps += 1;
      row += 1;
      column = 0;
    }
    lines[row] =
      `${(lines[row] ?? '').padEnd(column).slice(0, column)}${character}${(lines[row] ?? '').slice(column + 1)}`;
    column += 1;
  };
  const write = (text: string) => {
    for (const [character, count, command] of text.matchAll(token)) {
      if (command === 'A') row = Math.max(row - Number(count), Math.max(lines.length - rows, 0));
      else if (command === 'K') lines[row] = (lines[row] ?? '').slice(0, column);
      else if (command === 'J') lines = [...lines.slice(0, row), (lines[row] ?? '').slice(0, column)];
      else if (character === '\r') column = 0;
      else if (character === '\n') {
        row += 1;
        column = 0;
        lines[row] ??= '';
      } else put(character);
    }
  };
  const sink = { isTTY, columns, rows, writeStyled: write };
  return {
    terminal: createTerminal(sink, env),
    text: () => lines.join('\n'),
    wraps: () => wraps,
    /** Becomes narrower and wraps what it shows, as most terminals do. */
    narrow: (to: number) => {
      lines = lines.flatMap((line) => line.match(new RegExp(`.{1,${to}}`, 'gu')) ?? ['']);
      row = lines.length - 1;
      column = lines[row]!.length;
      sink.columns = columns = to;
    },
  };
}

describe('createTerminal', () => {
  it('keeps the block below the lines that stay, and rewrites it in place', () => {
    const { terminal, text } = screen();
    terminal.show(['one', 'two']);
    terminal.write('a log line\n');
    expect(text()).toBe('a log line\none\ntwo');
    terminal.show(['1']);
    terminal.write('another\n');
    expect(text()).toBe('a log line\nanother\n1');
    terminal.show([]);
    expect(text()).toBe('a log line\nanother\n');
  });

  it('leaves no garbage when the terminal becomes narrower', () => {
    const { terminal, text, narrow } = screen(30);
    terminal.write('a log line\n');
    terminal.show(['x'.repeat(29), 'y'.repeat(25), 'z']);
    narrow(12);
    terminal.show(['x'.repeat(11), 'z']);
    expect(text()).toBe(`a log line\n${'x'.repeat(11)}\nz`);
  });

  it('shows what fits on a terminal of few lines', () => {
    const { terminal, text } = screen(30, 3);
    for (const lines of [
      ['a', 'b', 'c', 'd'],
      ['e', 'f', 'g'],
    ])
      terminal.show(lines);
    expect(text()).toBe('e\nf');
  });

  it('never makes a line wrap, whatever is shown', () => {
    const line = fc.string({ unit: 'grapheme', maxLength: 90 });
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 60 }), fc.array(line, { maxLength: 5 }), (columns, lines) => {
        const { terminal, wraps } = screen(columns);
        terminal.show(lines);
        expect(wraps()).toBe(0);
      }),
    );
  });

  it.each([
    ['in a file', screen(80, 24, {}, false)],
    ['on a dumb terminal', screen(80, 24, { TERM: 'dumb' })],
  ])('shows no block %s', (_, { terminal, text }) => {
    terminal.show(['1 of 9']);
    terminal.write('a log line\n');
    terminal.show([]);
    expect([terminal.hasBlock, text()]).toEqual([false, 'a log line\n']);
  });

  it('begins a new block after it has forgotten the old one', () => {
    const { terminal, text } = screen();
    terminal.show(['one']);
    terminal.write('');
    terminal.forget();
    terminal.show(['two']);
    expect(text()).toBe('onetwo');
  });
});

it('cutToCells never gives more cells than asked for', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), fc.nat(40), (text, cells) => {
      expect(cellsOf(cutToCells(text, cells))).toBeLessThanOrEqual(cells);
    }),
  );
  expect(cutToCells('Zażółć 京都', 9)).toBe('Zażółć ..');
});
