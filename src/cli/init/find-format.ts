/** Finds how a file must be read: its encoding, the lines before its header, and whether it has a header at all. */
import { dirname, resolve } from 'node:path';
import { ConfigError, cellLikeValue, FoliopipeError, type SourceLook } from '../../../pipelines/index.js';
import { reworded } from '../../errors.js';
import { countOf } from '../../quantities.js';
import { delimiterIn, escapeUnprintable, showNames, showText } from '../../text.js';
import { stderr } from '../output.js';
import { type Ask, isYes } from './ask.js';
import { sourcesIn } from './choose.js';
import { doubledNames, type FormatFlags, type LookFormat, look } from './look.js';

/** What was found, and what the config must say so that the file is read in the same way. */
export interface FoundSource {
  readonly found: SourceLook;
  readonly format: LookFormat;
}

/**
 * Looks at a source, and asks about what cannot be detected for sure.
 * @param again the command to type again, with all that was typed.
 * @throws ConfigError `USAGE`; if there is nobody to ask: `INIT_ENCODING_UNKNOWN`, `INIT_DELIMITER_UNKNOWN`,
 *   `INIT_LINES_BEFORE_HEADER`, `INIT_NO_HEADER`; the errors of `lookAtSource`.
 */
export async function findFormat(
  path: string,
  flags: FormatFlags,
  signal: AbortSignal,
  ask: Ask | undefined,
  again: string,
): Promise<FoundSource> {
  const file = { path, signal, ask, again };
  const { header, ...format } = flags;
  if (/\.parquet$/i.test(path)) refuseCsvFlags(path, flags);
  const encoded = await chooseEncoding(file, format);
  if (encoded.found.dialect === null) return encoded;
  const separated = await chooseDelimiter(file, encoded);
  const begun = await chooseSkipLines(file, separated);
  return chooseHeader(file, begun, header);
}

const CSV_FLAGS: readonly (readonly [keyof FormatFlags, string])[] = [
  ['delimiter', '--delimiter'],
  ['encoding', '--encoding'],
  ['skipLines', '--skip-lines'],
  ['header', '--header'],
];

/** @throws ConfigError `USAGE` for a flag that says how a CSV is read: a Parquet file needs none. */
function refuseCsvFlags(path: string, flags: FormatFlags): void {
  const [, flag] = CSV_FLAGS.find(([name]) => flags[name] !== undefined) ?? [];
  if (flag === undefined) return;
  throw new ConfigError('USAGE', `${flag} is for CSV files, and ${escapeUnprintable(path)} is Parquet`, {
    hint: `nothing was written; leave ${flag} out`,
  });
}

interface AskedFile {
  readonly path: string;
  readonly signal: AbortSignal;
  readonly ask: Ask | undefined;
  readonly again: string;
}

/** The encoding of most files that are not UTF-8. A person must confirm it, because a wrong encoding changes letters. */
const COMMON_ENCODING = 'windows-1252';

async function chooseEncoding(
  { path, signal, ask, again }: AskedFile,
  format: LookFormat,
): Promise<FoundSource> {
  const found = await look(path, format, signal).catch((error: unknown) => {
    if (!(error instanceof FoliopipeError)) throw error;
    const { code } = error;
    if (code === 'SOURCE_ENCODING' && !error.hint?.includes('byte order mark')) return undefined;
    if (code !== 'SOURCE_MISSING') throw reworded(error, { hint: withoutConfig(error, again) });
    return filesBeside(path).then((hint) => Promise.reject(reworded(error, { hint })));
  });
  // UTF-8 is believed if the file's mark or a person says so: the check of all records names those that are not.
  const isUtf8 = found?.dialect?.encoding === 'utf8';
  const isNamed = found?.dialect?.bom || (isUtf8 && format.encoding !== undefined);
  if (found !== undefined && (!found.hasOtherEncoding || isNamed)) return { found, format };
  const shown = escapeUnprintable(path);
  const isDamaged =
    isUtf8 && found.records.some((values) => values.some((value) => /[^\0-\x7f]/.test(value)));
  const what = isDamaged
    ? `${shown} holds letters of UTF-8 and damaged ones`
    : `${shown} is not ${format.encoding ?? 'UTF-8'}`;
  const likely = isDamaged ? 'utf8' : COMMON_ENCODING;
  if (ask === undefined) {
    throw new ConfigError('INIT_ENCODING_UNKNOWN', `${what}, and its encoding cannot be detected`, {
      hint: `nothing was written; name its encoding: ${again} --encoding ${likely}; Excel on Windows writes windows-1252, older Unix programs latin1; where only some letters are damaged, utf8 lets foliopipe plan name them`,
    });
  }
  stderr.write(`${what}\n`);
  const encoding = await ask({ text: 'Its encoding', fallback: likely });
  return chooseEncoding({ path, signal, ask, again }, { ...format, encoding });
}

/** The hint of an error, with flags of this command in place of config keys: there is no config yet. */
function withoutConfig({ code, hint, facts }: FoliopipeError, again: string): string | undefined {
  const way =
    code === 'SOURCE_HEADER_SHORT'
      ? `or read it as it is: ${again} --skip-lines ${facts.lines} --header none names its columns column1 and so on, or give ${facts.fields} names, with commas between them`
      : hint?.includes('source.delimiter= ')
        ? `if blanks separate the fields, as R writes them: ${again} --delimiter ' '`
        : undefined;
  if (way === undefined) return hint;
  const [first] = hint!.split(/;\s+(?:or|if) /);
  return `nothing was written; ${first}; ${way}`;
}

/** Asks about a single column whose name holds a delimiter: most often such a header was not separated. */
async function chooseDelimiter(
  { path, signal, ask, again }: AskedFile,
  { found, format }: FoundSource,
): Promise<FoundSource> {
  const [only = '', ...others] = found.columns;
  const held = delimiterIn(only, found.dialect?.delimiter);
  if (format.delimiter !== undefined || others.length > 0 || held === undefined) return { found, format };
  const shown = held === '\t' ? '\\t' : held;
  const what = `${escapeUnprintable(path)} seems to have one column, and its name holds "${shown}": ${showNames(found.columns)}`;
  if (ask === undefined) {
    throw new ConfigError('INIT_DELIMITER_UNKNOWN', what, {
      hint: `nothing was written; if that separates the fields: ${again} --delimiter '${shown}'; if there is one column only: ${again} --delimiter '${found.dialect?.delimiter ?? ','}'`,
    });
  }
  stderr.write(`${what}\n`);
  const delimiter = await ask({ text: 'Its delimiter', fallback: shown });
  const asked = { ...format, delimiter };
  return { found: await look(path, asked, signal), format: asked };
}

async function filesBeside(path: string): Promise<string> {
  const folder = dirname(path);
  const there = await sourcesIn(folder);
  return there.length === 0
    ? `there is no CSV or Parquet file in ${escapeUnprintable(resolve(folder))}: check the path`
    : `files here: ${showNames(there)}`;
}

/** Most lines before a header that are detected. */
const MOST_LINES_BEFORE = 5;

async function chooseSkipLines(
  { path, signal, ask, again }: AskedFile,
  { found, format }: FoundSource,
): Promise<FoundSource> {
  // Excel's line `sep=;`, read with the delimiter that it names, has two columns.
  const isOneColumn = found.columns.length === 1 || /^sep=$/i.test(found.columns[0]!);
  if (!isOneColumn || format.skipLines !== undefined) return { found, format };
  for (let skipLines = 1; skipLines <= MOST_LINES_BEFORE; skipLines++) {
    const further = { ...format, skipLines };
    const behind = await look(path, further, signal).catch(() => undefined);
    if (behind === undefined || behind.columns.length === 1) continue;
    if (behind.records.length <= found.records.length) continue;
    const what = `the header seems to come after ${countOf(skipLines, 'line')} of other text`;
    if (ask === undefined) {
      throw new ConfigError('INIT_LINES_BEFORE_HEADER', `${escapeUnprintable(path)}: ${what}`, {
        hint: `nothing was written; skip it: ${again} --skip-lines ${skipLines}`,
        facts: { lines: skipLines },
      });
    }
    stderr.write(`${what}:\n  ${showNames(behind.columns)}\n`);
    if (await isYes(ask, `Skip ${countOf(skipLines, 'line')}`, 'yes'))
      return { found: behind, format: further };
    break;
  }
  return { found, format };
}

async function chooseHeader(
  { path, signal, ask, again }: AskedFile,
  { found, format }: FoundSource,
  given: string | undefined,
): Promise<FoundSource> {
  if (given === 'first') return { found, format };
  const withHeader = async (header: NonNullable<LookFormat['header']>) => {
    const named = { ...format, header };
    return { found: await look(path, named, signal), format: named };
  };
  if (given === 'rename') return withHeader(given);
  const madeNames = found.columns.map((_, field) => `column${field + 1}`);
  if (given !== undefined) return withHeader(given === 'none' ? madeNames : namesOf(given, found));
  const cell = cellLikeValue(found.columns, found.records);
  if (cell === undefined) {
    const isRenamed = ask !== undefined && (await wantsNumbers(found, ask));
    return isRenamed ? withHeader('rename') : { found, format };
  }
  const what = `the first line looks like a record and not like a header: it holds ${showText(cell)}, as the lines below it do`;
  if (ask === undefined) {
    throw new ConfigError('INIT_NO_HEADER', `${escapeUnprintable(path)}: ${what}`, {
      hint: `nothing was written; if the file has no header: ${again} --header none names its columns column1 and so on, or give names, with commas between them; if it is the header, add --header first`,
      facts: { columns: found.columns.length },
    });
  }
  stderr.write(`${what}:\n  ${showNames(found.columns)}\n`);
  return (await isYes(ask, 'Is it the header', 'no')) ? { found, format } : withHeader(madeNames);
}

/** Asks whether to number doubled names. The output then has the numbered names, too. */
async function wantsNumbers({ columns }: SourceLook, ask: Ask): Promise<boolean> {
  const doubled = doubledNames(columns);
  if (doubled.length === 0) return false;
  stderr.write(`several columns have the same name, so none of them can be sent: ${showNames(doubled)}\n`);
  return isYes(ask, 'Number them (NAME_2), in the output too', 'no');
}

/** @throws ConfigError `USAGE` unless there is a name for each column, each different and not empty. */
function namesOf(given: string, { columns }: SourceLook): readonly string[] {
  const names = given.split(',').map((name) => name.trim());
  const isGood = names.length === columns.length && names.every((name) => name !== '');
  if (isGood && new Set(names).size === names.length) return names;
  throw new ConfigError(
    'USAGE',
    `--header: expected ${countOf(columns.length, 'name')}, all different, with commas between them; got ${names.length}`,
    { hint: 'nothing was written; --header none makes up the names' },
  );
}
