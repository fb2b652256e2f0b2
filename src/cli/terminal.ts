/** Shows text on stderr: lines that stay and, on a terminal, one status line below them, which is rewritten. */
import { escapeUnprintable } from '../text.js';
import { type Sink, stderr } from './output.js';

export interface Terminal {
  /** Whether a status line can be shown. */
  readonly hasStatus: boolean;
  /** Writes lines that stay; they end with a newline, may have colours, and hold nothing else that acts on a terminal. */
  write(lines: string): void;
  /** Replaces the status line; an empty text removes it. */
  status(text: string): void;
}

/** Erases the line and moves the cursor to its start. */
const clearLine = '\u001b[2K\u001b[1G';

export function createTerminal(sink: Pick<Sink, 'isTTY' | 'columns' | 'writeStyled'> = stderr): Terminal {
  const hasStatus = sink.isTTY;
  let shown = '';

  const cleared = () => (shown === '' ? '' : clearLine);
  return {
    hasStatus,
    write: (lines) => sink.writeStyled(cleared() + lines + shown),
    status: (text) => {
      if (!hasStatus) return;
      const before = cleared();
      shown = escapeUnprintable(text).slice(0, sink.columns - 1);
      sink.writeStyled(before + shown);
    },
  };
}
