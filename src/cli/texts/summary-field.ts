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
  const lines: string[] = [];
  let line = '';
  for (const word of typeof text === 'string' ? text.split(' ') : text) {
    const longer = line === '' ? word : `${line} ${word}`;
    if (line !== '' && INDENT + longer.length > WIDTH) {
      lines.push(line);
      line = word;
    } else line = longer;
  }
  lines.push(line);
  return lines.map((one, at) => `  ${(at === 0 ? name : '').padEnd(INDENT - 3)} ${one}`);
}
