/** Says what is wrong with a YAML text, without quoting it: it may hold a token. */
import { type Alias, type Document, visit, type YAMLError } from 'yaml';

/** Of what a person is likely to write; the parser's own words do for the rest. */
const WORDS: Partial<Record<YAMLError['code'], string>> = {
  BAD_DQ_ESCAPE: 'a backslash within double quotes means something else; write single quotes around the text',
  BAD_INDENT: 'the line is indented otherwise than its neighbours, or a bracket before it is never closed',
  BAD_SCALAR_START: 'a text that begins with @ or ` must stand in quotes',
  BLOCK_AS_IMPLICIT_KEY: 'a text with a colon and a space in it must stand in quotes',
  DUPLICATE_KEY: 'the same key stands twice in a map',
  MISSING_CHAR: 'a quote or a bracket is never closed, or a colon is missing behind a key',
  MULTIPLE_DOCS: 'only one document may stand in a file; take out the line ---',
  TAB_AS_INDENT: 'tabs cannot indent a line; write spaces',
  TAG_RESOLVE_FAILED: 'a text that begins with ! must stand in quotes',
  UNEXPECTED_TOKEN: 'something stands behind the end of a text or a bracket',
};

/** What the parser found, or threw, in words. */
export function yamlProblem(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? (error.code as YAMLError['code']) : undefined;
  const message = error instanceof Error ? error.message : '';
  return `is not YAML: ${(code && WORDS[code]) ?? withoutSource(message)}`;
}

/** The first reference `*name` without its anchor `&name` before it, which only the making of values shows. */
export function unresolvedAlias(document: Document): Alias | undefined {
  let found: Alias | undefined;
  visit(document, {
    Alias: (_key, alias) => {
      if (alias.resolve(document) !== undefined) return undefined;
      found = alias;
      return visit.BREAK;
    },
  });
  return found;
}

/** The parser's messages quote the source after a colon or in quotes. */
function withoutSource(message: string): string {
  return message.replace(/(:| ?["'`]).*/s, '');
}
