/**
 * Shows text on stderr: lines that stay and, on a terminal, a block of lines below them, which is rewritten in place.
 * Invariant: the cursor is at the end of the block's last line, so that the block can be found again.
 */
import { escapeUnprintable } from '../../text.js';
import { type Sink, stderr, stdout } from '../output.js';

export interface Terminal {
  /** Whether a block can be shown. */
  readonly hasBlock: boolean;
  /** Cells in a line of the block. */
  readonly width: number;
  /** Writes lines that stay. They end with a newline, may have colours, and hold nothing else that acts on a terminal. */
  write(lines: string): void;
  /** Replaces the block; without lines it is removed. */
  show(lines: readonly string[]): void;
  /** Draws the next block below, because another program has used the terminal since this one was drawn. */
  forget(): void;
}

const eraseToLineEnd = '\u001b[K';
const eraseBelow = '\u001b[J';

export function createTerminal(
  sink: Pick<Sink, 'isTTY' | 'columns' | 'rows' | 'writeStyled'> = stderr,
  { TERM }: { readonly TERM?: string | undefined } = process.env,
): Terminal {
  // A dumb terminal cannot move its cursor.
  const hasBlock = sink.isTTY && TERM !== 'dumb';
  let shown: readonly string[] = [];
  /** The columns of the terminal when the block was drawn. */
  let drawnIn = sink.columns;

  /** Moves the cursor to the beginning of the block. A terminal that has become narrower has wrapped its lines. */
  const toBegin = () => {
    if (shown.length === 0) return '';
    const wrapped = shown.map((line) => Math.max(Math.ceil(cellsOf(line) / sink.columns), 1));
    const up =
      Math.min(
        wrapped.reduce((sum, lines) => sum + lines, 0),
        sink.rows,
      ) - 1;
    return up === 0 ? '\r' : `\r\u001b[${up}A`;
  };
  const drawn = () => {
    // A terminal of another width may have joined lines to those that follow. Only erasing them undoes that.
    const begin = sink.columns === drawnIn ? '' : eraseBelow;
    drawnIn = sink.columns;
    const end = shown.length === 0 ? '' : eraseBelow;
    return begin + shown.map((line) => line + eraseToLineEnd).join('\n') + end;
  };
  return {
    hasBlock,
    get width() {
      // The last cell stays free: some terminals wrap when it is written.
      return Math.max(sink.columns - 1, 1);
    },
    write: (lines) => sink.writeStyled(shown.length === 0 ? lines : toBegin() + eraseBelow + lines + drawn()),
    show: (lines) => {
      if (!hasBlock || (lines.length === 0 && shown.length === 0)) return;
      const begin = toBegin();
      const before = shown;
      shown = lines
        .slice(0, Math.max(sink.rows - 1, 1))
        .map((line) => cutToCells(escapeUnprintable(line), Math.max(sink.columns - 1, 1)));
      if (sink.columns === drawnIn && shown.join('\n') === before.join('\n')) return;
      sink.writeStyled(begin + (shown.length === 0 ? eraseBelow : drawn()));
    },
    forget: () => {
      shown = [];
    },
  };
}

/** The terminal of a command. With `--json` on the same terminal, a block would be torn apart by the lines of stdout. */
export function createCommandTerminal({ json = false }: { readonly json?: boolean }): Terminal {
  return createTerminal(stderr, json && stdout.isTTY ? { TERM: 'dumb' } : process.env);
}

/**
 * The most cells that a text takes on a terminal: characters from the Hangul block on count as wide, because many are.
 */
export function cellsOf(text: string): number {
  let cells = 0;
  for (const character of text) cells += character.codePointAt(0)! < firstWide ? 1 : 2;
  return cells;
}

const firstWide = 0x1100;

/** The text, cut to this number of cells. */
export function cutToCells(text: string, cells: number): string {
  if (cellsOf(text) <= cells) return text;
  if (cells <= ellipsis.length) return ellipsis.slice(0, cells);
  return firstCells([...text], cells - ellipsis.length).join('') + ellipsis;
}

/** The first characters that fit. */
export function firstCells(characters: readonly string[], cells: number): string[] {
  let used = 0;
  return characters.filter((character) => {
    used += cellsOf(character);
    return used <= cells;
  });
}

const ellipsis = '..';
