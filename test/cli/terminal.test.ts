import { describe, expect, it } from 'vitest';
import { createTerminal } from '../../src/cli/terminal.js';

/** Records what would be shown, including control sequences. */
function stream(isTTY: boolean, columns = 80) {
  const written: string[] = [];
  const sink = { isTTY, columns, writeStyled: (text: string) => void written.push(text) };
  return { written, terminal: createTerminal(sink) };
}

const clear = '\u001b[2K\u001b[1G';

describe('createTerminal', () => {
  it('keeps the status line below the other lines', () => {
    const { written, terminal } = stream(true);
    terminal.status('1 of 9');
    terminal.write('a log line\n');
    terminal.status('2 of 9');
    terminal.status('');
    expect(written).toEqual(['1 of 9', `${clear}a log line\n1 of 9`, `${clear}2 of 9`, clear]);
  });
  it('shortens a status that would wrap', () => {
    const { written, terminal } = stream(true, 5);
    terminal.status('123456');
    expect(written).toEqual(['1234']);
  });
  it('shows no status in a file', () => {
    const { written, terminal } = stream(false);
    terminal.status('1 of 9');
    terminal.write('a log line\n');
    terminal.status('');
    expect(written).toEqual(['a log line\n']);
  });
});
