/** Checks that two files can be one source: the same columns in the same order, and the same delimiter. */
import { SourceError } from '../errors.js';
import { showText } from '../text.js';
import type { InspectedFile } from './inspect-file.js';

type Layout = Pick<InspectedFile, 'path' | 'columns' | 'dialect'>;

/**
 * @throws SourceError `SOURCE_HEADERS_DIFFER` or `SOURCE_DELIMITERS_DIFFER`, naming both files and the first
 * difference.
 */
export function checkSameColumns(first: Layout, other: Layout): void {
  const count = Math.max(first.columns.length, other.columns.length);
  for (let at = 0; at < count; at++) {
    const [one, two] = [first.columns[at], other.columns[at]];
    if (one === two) continue;
    const [shownOne, shownTwo] = [one, two].map((column) =>
      column === undefined ? 'missing' : showText(column),
    );
    throw new SourceError(
      'SOURCE_HEADERS_DIFFER',
      `column ${at + 1} is ${shownOne} in ${first.path} and ${shownTwo} in ${other.path}`,
      {
        hint: 'the files of one source must have the same columns in the same order; narrow source.path',
        facts: { file: first.path, otherFile: other.path, column: at + 1 },
      },
    );
  }
  if (first.dialect.delimiter !== other.dialect.delimiter) {
    const [one, two] = [first, other].map(({ dialect }) => JSON.stringify(dialect.delimiter));
    throw new SourceError(
      'SOURCE_DELIMITERS_DIFFER',
      `the delimiter is ${one} in ${first.path} and ${two} in ${other.path}`,
      {
        hint: 'the files of one source must have the same delimiter; set source.delimiter if it was detected wrongly',
        facts: { file: first.path, otherFile: other.path },
      },
    );
  }
}
