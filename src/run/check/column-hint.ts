/** What to do about a column that the config names and the source does not have, by what kind of source it is. */
import type { Config } from '../../config/schema.js';
import { delimiterText } from '../../csv/detect-dialect.js';
import { ConfigError, reworded } from '../../errors.js';
import { lookalikeName } from '../../nearest-name.js';
import type { LayoutSource } from '../../results/output-layout.js';
import { delimiterIn, typedText } from '../../text.js';

type SourceSection = Config['source'];

/**
 * The same error with a hint that fits the source. In a query or a Parquet file, no line can be mistaken for the header.
 * In a CSV, a wrong delimiter may have made one column of all.
 */
export function withColumnHint(error: unknown, header: LayoutSource, source: SourceSection): unknown {
  if (!(error instanceof ConfigError)) return error;
  const hint = source.isOurs
    ? hintWithoutHeader(error, header, source)
    : hintOfDelimiter(error, header, source);
  return hint === undefined ? error : reworded(error, { hint });
}

function hintWithoutHeader(
  { code, facts }: ConfigError,
  { columns }: LayoutSource,
  { query }: SourceSection,
): string | undefined {
  const { key, column } = facts;
  if (code === 'CONFIG_COLUMN_TWICE') {
    return query === null
      ? 'give each a name of its own'
      : 'give each a name of its own in source.query.sql: select ... as NAME';
  }
  if (code !== 'CONFIG_COLUMN_MISSING') return undefined;
  const meant = lookalikeName(String(column), columns);
  const correct =
    meant === undefined
      ? `correct ${key}: names are compared letter by letter`
      : `did you mean ${typedText(meant)}? write exactly that for ${key}`;
  return query === null ? correct : `${correct}; or let source.query.sql give this name: select ... as NAME`;
}

/** Says how the header was read, if a wrong delimiter may have made one column of all. */
function hintOfDelimiter(
  { code }: ConfigError,
  { columns, files }: LayoutSource,
  { delimiter }: SourceSection,
): string | undefined {
  const [only, ...others] = columns;
  if (code !== 'CONFIG_COLUMN_MISSING' || only === undefined || others.length > 0) return undefined;
  const { delimiter: taken } = files[0]!.dialect;
  const held = delimiterIn(only, taken);
  const flag = `--set 'source.delimiter=${held === '\t' ? '\\t' : held}'`;
  const next =
    held === undefined
      ? 'if fields are separated by something else, set source.delimiter; if the header is not the first line, source.skipLines; if the text is garbled, source.encoding'
      : `is it ${JSON.stringify(held)}, which the name of the column holds? foliopipe plan ${flag} shows what is read then; then: foliopipe run ${flag}`;
  return `the source has one column only: the delimiter is ${delimiterText(taken, delimiter)}; ${next}`;
}
