/** Chooses source, columns, service and output of a first config: from flags, from answers, or by guesses. */
import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { ConfigError, parseConfig, type SourceLook } from '../../../pipelines/index.js';
import { escapeUnprintable, quoteForShell, showNames, showText } from '../../text.js';
import { stderr } from '../output.js';
import type { Ask } from './ask.js';
import type { FirstConfig } from './config-text.js';
import { type Guess, type Guesses, guessColumns, SENT, type Sent } from './guess-columns.js';
import { doubledNames, type FormatFlags, recordLines } from './look.js';

export interface InitFlags extends FormatFlags, Partial<Record<Sent, string>> {
  readonly output?: string;
  readonly baseUrl?: string;
}

/**
 * Finds the CSV or Parquet file in this folder or in `data/`.
 * @returns undefined if there is none.
 * @throws ConfigError `INIT_SOURCE_AMBIGUOUS` if there are several and nobody to ask.
 */
export async function findSource(ask: Ask | undefined): Promise<string | undefined> {
  const found = [...(await sourcesIn('.')), ...(await sourcesIn('data'))];
  const [first, ...others] = found;
  if (first === undefined || others.length === 0) return first;
  const shown = showNames(found);
  if (ask !== undefined) {
    stderr.write(`files: ${shown}\n`);
    const problem = (answer: string) => (existsSync(answer) ? undefined : `there is no file ${answer}`);
    return ask({ text: 'Which file is the source', fallback: first, problem });
  }
  throw new ConfigError('INIT_SOURCE_AMBIGUOUS', `there are ${found.length} files here: ${shown}`, {
    hint: `name one of them: foliopipe init ${quoteForShell(escapeUnprintable(first))}; or all of them by a pattern in quotes`,
    facts: { files: found.length },
  });
}

/** The files in a folder that may be sources. */
export async function sourcesIn(folder: string): Promise<readonly string[]> {
  const names = await readdir(folder).catch(() => []);
  return names
    .filter((name) => /\.(?:csv|tsv|csv\.gz|tsv\.gz|parquet)$/i.test(name) && !name.startsWith('.'))
    .filter((name) => !/\.(?:sample|rejects|delta|drift|key-drift)\.csv$/.test(name))
    .map((name) => (folder === '.' ? name : join(folder, name)))
    .filter((path) => !existsSync(`${path}.manifest.json`))
    .sort();
}

/**
 * The columns to send.
 * @param typed the arguments of the command to type again, for a hint.
 * @throws ConfigError `INIT_COLUMN_UNKNOWN` for a flag that does not name one column, `INIT_COLUMNS_UNKNOWN` if no
 *   column looks like the name of a business.
 */
export async function chooseColumns(
  path: string,
  found: SourceLook,
  flags: InitFlags,
  typed: string,
  ask: Ask | undefined,
): Promise<Guesses> {
  const { columns, records } = found;
  const guesses: Partial<Record<Sent, Guess>> = { ...guessColumns(columns, records) };
  for (const sent of SENT) {
    const column = flags[sent];
    if (column === undefined) continue;
    const problem = columnProblem(column, columns);
    if (problem !== undefined) throw unknownColumn(sent, column, problem, columns);
    guesses[sent] = { column, certainty: 'sure', why: `--${sent}` };
  }
  if (ask !== undefined) return askForColumns(found, guesses, ask);
  if (guesses.name === undefined) throw noName(path, columns, typed);
  return inOrder(guesses);
}

async function askForColumns(found: SourceLook, guesses: Guesses, ask: Ask): Promise<Guesses> {
  stderr.write(`${recordLines(found, inOrder(guesses))}Which columns should the service get?\n`);
  const chosen: Partial<Record<Sent, Guess>> = {};
  for (const sent of SENT) {
    const isNeeded = sent === 'name';
    const fallback = guesses[sent]?.column ?? (isNeeded ? '' : NONE);
    const text = `  ${QUESTIONS[sent]}${isNeeded ? '' : `, ${NONE} for none`}`;
    const problem = (answer: string) =>
      !isNeeded && answer === NONE ? undefined : columnProblem(answer, found.columns);
    const column = await ask({ text, fallback, problem });
    if (column !== NONE || isNeeded) chosen[sent] = { column, certainty: 'sure', why: 'chosen' };
  }
  return chosen;
}

const NONE = '-';
const QUESTIONS: Readonly<Record<Sent, string>> = {
  name: 'name of the business',
  address: 'its street address',
  state: 'its state',
};

function inOrder(guesses: Guesses): Guesses {
  return Object.fromEntries(SENT.flatMap((sent) => (guesses[sent] ? [[sent, guesses[sent]]] : [])));
}

function columnProblem(column: string, columns: readonly string[]): string | undefined {
  const times = columns.filter((one) => one === column).length;
  if (column !== '' && times === 1) return undefined;
  const shown = showText(column);
  return times > 1 ? `${times} columns are called ${shown}` : `there is no column ${shown}`;
}

function unknownColumn(sent: Sent, column: string, problem: string, columns: readonly string[]): ConfigError {
  const isMissing = column === '' || !columns.includes(column);
  return new ConfigError(
    'INIT_COLUMN_UNKNOWN',
    `--${sent}: ${problem}; the columns are ${showNames(columns)}`,
    {
      hint: isMissing ? NAME_ANOTHER : NAME_EACH,
    },
  );
}

const NAME_ANOTHER = 'nothing was written; name a column as it is written in the header';
const NAME_EACH =
  'nothing was written; add --header rename, which calls the second one NAME_2, or give each a name of its own in the file';

function noName(path: string, columns: readonly string[], typed: string): ConfigError {
  const doubled = doubledNames(columns);
  const [but, rename] =
    doubled.length === 0
      ? ['', '']
      : [`, except those with a doubled name: ${showNames(doubled)}`, '; doubled names: --header rename'];
  return new ConfigError(
    'INIT_COLUMNS_UNKNOWN',
    `no column of ${escapeUnprintable(path)} looks like the name of a business${but}; the columns are ${showNames(columns)}`,
    {
      hint: `nothing was written; name the columns: foliopipe init ${typed} --name COLUMN --address COLUMN --state COLUMN; a wrong delimiter: --delimiter ';'; lines before the header: --skip-lines 1; no header: --header none${rename}`,
      facts: { columns: columns.length },
    },
  );
}

/** @throws ConfigError `USAGE` for an address or a path that would be wrong in the config. */
export function refuseWrongPlaces({ baseUrl, output }: InitFlags): void {
  const problem =
    (baseUrl === undefined ? undefined : placeProblem('baseUrl', baseUrl)) ??
    (output === undefined ? undefined : placeProblem('output', output));
  if (problem !== undefined) throw new ConfigError('USAGE', problem, { hint: 'nothing was written' });
}

/** The service's address and the path of the output. */
export async function choosePlaces(
  pipeline: string,
  flags: InitFlags,
  ask: Ask | undefined,
): Promise<Pick<FirstConfig, 'baseUrl' | 'output'>> {
  const given = { baseUrl: flags.baseUrl, output: flags.output ?? `out/${pipeline}-enriched.csv` };
  if (ask === undefined) return given;
  const baseUrl = await ask({
    text: 'Address of the service (empty: later)',
    fallback: given.baseUrl ?? '',
    problem: (answer) => (answer === '' ? undefined : placeProblem('baseUrl', answer)),
  });
  const output = await ask({
    text: 'Enriched file',
    fallback: given.output,
    problem: (answer) => placeProblem('output', answer) ?? foreignFile(answer),
  });
  return { baseUrl: baseUrl === '' ? undefined : baseUrl, output };
}

function foreignFile(path: string): string | undefined {
  const isForeign = existsSync(path) && !path.endsWith('/') && !existsSync(`${path}.manifest.json`);
  return isForeign ? `${path} exists already, and foliopipe did not write it` : undefined;
}

/** What is wrong with a value, as the check of a config says it; undefined if nothing is. */
function placeProblem(key: 'baseUrl' | 'output', value: string): string | undefined {
  const example = {
    pipeline: 'example',
    source: { path: 'example.csv' },
    upload: { columns: { name: 'name' } },
    service: { baseUrl: key === 'baseUrl' ? value : 'https://example.com', token: 'none' },
    output: { path: key === 'output' ? value : 'example.enriched.csv' },
  };
  try {
    parseConfig(example, '/');
    return undefined;
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const [[named, text] = ['', '']] = Object.entries(error.facts);
    return `${named}: ${text}`;
  }
}
