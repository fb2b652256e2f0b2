/** What stands on stderr: lines that stay, and on a terminal one status line below them that is rewritten. */
import { clearLine, cursorTo } from 'node:readline';

export interface Terminal {
  /** Whether a status line can be shown. */
  readonly hasStatus: boolean;
  /** Writes lines that stay; they end with a newline. */
  write(lines: string): void;
  /** Shows the status line in place of the one before; an empty text takes it away. */
  status(text: string): void;
}

export function createTerminal(stream: NodeJS.WriteStream = process.stderr): Terminal {
  const hasStatus = stream.isTTY === true;
  let shown = '';

  const clear = () => {
    if (shown === '') return;
    clearLine(stream, 0);
    cursorTo(stream, 0);
  };
  return {
    hasStatus,
    write: (lines) => {
      clear();
      stream.write(lines + shown);
    },
    status: (text) => {
      if (!hasStatus) return;
      clear();
      shown = text.slice(0, (stream.columns || 80) - 1);
      stream.write(shown);
    },
  };
}
