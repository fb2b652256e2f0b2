/** The lines of a summary: a name and what it is, at most 80 columns wide. */

/** Of the narrowest terminal that lines are made for. */
export const WIDTH = 80;
/** What stands before the text of each line: two spaces, the name, a space. */
export const INDENT = 12;

/**
 * A line with its name, continued below where it is longer than a terminal of 80 columns. A word is not cut.
 * @param text in words, where a word has spaces: a path that a person copies.
 */
export function field(name: string, text: string | readonly string[]): string[] {
  const words = typeof text === 'string' ? text.split(' ') : text;
  return broken(words, WIDTH - INDENT).map(
    (one, at) => `  ${(at === 0 ? name : '').padEnd(INDENT - 3)} ${one}`,
  );
}

/** A sentence below the fields. One with a command or a path stays in one line: broken, it could not be copied. */
export function sentence(text: string): string[] {
  const lines = /foliopipe |\//.test(text) ? [text] : broken(text.split(' '), WIDTH - 2);
  return lines.map((line) => `  ${line}`);
}

function broken(words: readonly string[], width: number): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of words) {
    const longer = line === '' ? word : `${line} ${word}`;
    if (line !== '' && longer.length > width) {
      lines.push(line);
      line = word;
    } else line = longer;
  }
  return [...lines, line];
}
