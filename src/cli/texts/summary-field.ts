/** The lines of a summary: a name and a text, at most 80 columns wide. */

/** The columns of the narrowest terminal that lines are made for. */
export const WIDTH = 80;
/** The columns before the text of each line: two spaces, the name, a space. */
export const INDENT = 12;

/**
 * A line with its name. Text that does not fit into 80 columns continues in the next line. A word is not cut.
 * @param text a list of words if a word has spaces, such as a path that a person copies.
 */
export function field(name: string, text: string | readonly string[]): string[] {
  const words = typeof text === 'string' ? text.split(' ') : text;
  return broken(words, WIDTH - INDENT).map(
    (one, at) => `  ${(at === 0 ? name : '').padEnd(INDENT - 3)} ${one}`,
  );
}

/** A sentence below the fields. A sentence with a command or a path is not broken, so that it can be copied. */
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
