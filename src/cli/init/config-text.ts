/** The text of a first config: short, with a line of explanation for each key, and the address of its JSON Schema. */
import { basename } from 'node:path';
import { parse } from 'yaml';
import { presentTexts } from '../../text.js';
import type { Sent } from './guess-columns.js';
import type { LookFormat } from './look.js';

export interface FirstConfig {
  readonly pipeline: string;
  /** Relative to the config, or absolute. */
  readonly source: string;
  /** What was found about the source, in a few words; undefined if there was no source. */
  readonly found: string | undefined;
  /** What the config says about how the file is read. */
  readonly format: LookFormat;
  readonly columns: Readonly<Partial<Record<Sent, string>>>;
  /** The service's address; undefined if it is not known yet. */
  readonly baseUrl: string | undefined;
  readonly output: string;
  /** Where the JSON Schema of configs is. */
  readonly schema: string;
  /** Whether source and columns are examples that a person must replace. */
  readonly isExample: boolean;
}

/** Marks what a person still has to replace in the text. */
export const EDIT = 'EDIT:';

export function configText(config: FirstConfig): string {
  const { pipeline, source, found, format, columns, baseUrl, output, schema, isExample } = config;
  const edit = isExample ? `${EDIT} ` : '';
  const sent = Object.entries(columns).map(
    ([name, column]) =>
      `    ${name}: ${scalar(column)}${isExample ? ` # ${EDIT} the column of your file` : ''}`,
  );
  const lines = [
    `# yaml-language-server: $schema=${schema}`,
    '# All keys, their defaults and where each value comes from: foliopipe config show --origins',
    `pipeline: ${scalar(pipeline)} # runs, costs and bought answers are kept under this name`,
    '',
    'source:',
    `  path: ${scalar(source)} # ${edit}${found ?? 'a CSV file, or a pattern such as data/*.csv.gz'}`,
    ...formatLines(format),
    '',
    'upload:',
    '  columns: # the columns that the service gets, and the columns of the source that they are taken from',
    ...sent,
    '',
    'service:',
    baseUrl === undefined
      ? `  baseUrl: \${FOLIOPIPE_BASE_URL} # ${EDIT} the address of the service, or set this variable`
      : `  baseUrl: ${scalar(baseUrl)}`,
    `  token: \${FOLIOPIPE_TOKEN} # set this variable: the token must not be written into a file`,
    '',
    'output:',
    `  path: ${scalar(output)} # or .csv.gz, .parquet, s3://bucket/key.csv, or a folder with / at its end`,
    '',
    '# budget: { perRun: 10000, pricePerRecord: 0.01 } # most records that a run may pay for; plan shows the cost',
    '# reuse: { maxAge: 90d } # pay only for records that have changed since an earlier night',
  ];
  return `${lines.join('\n')}\n`;
}

function formatLines({ encoding, delimiter, skipLines, header }: LookFormat): readonly string[] {
  return presentTexts([
    encoding !== undefined && `  encoding: ${scalar(encoding)}`,
    delimiter !== undefined && `  delimiter: ${JSON.stringify(delimiter)}`,
    skipLines !== undefined && `  skipLines: ${skipLines} # lines before the header`,
    ...(header === undefined ? [] : headerLines(header)),
  ]);
}

function headerLines(header: NonNullable<LookFormat['header']>): readonly string[] {
  return header === 'rename'
    ? ['  header: rename # the second column with the same name is called NAME_2']
    : [
        '  header: # the file has none: these are the names of its columns',
        ...header.map((name) => `    - ${scalar(name)}`),
      ];
}

/** A text as YAML, in quotes if it needs them. Escapes what the config would read as a variable. */
function scalar(text: string): string {
  const isPlain = /^[A-Za-z.][\w./-]*(?: [\w./-]+)*$/.test(text) && isSame(text);
  return isPlain ? text : JSON.stringify(text.replaceAll('${', () => '$${'));
}

/** Whether YAML reads a text as this text, and not as a number or as a word such as `yes`, also in its version 1.1. */
function isSame(text: string): boolean {
  return VERSIONS.every((version) => parse(text, { version }) === text);
}

const VERSIONS = ['1.1', '1.2'] as const;

/** A name for the pipeline, from the name of a source. */
export function pipelineName(path: string): string {
  const name = basename(path)
    .replace(/(?:\.(?:csv|tsv|txt|gz|zst|parquet))+$/i, '')
    .replaceAll(/[^A-Za-z0-9._-]+/g, '-')
    .replaceAll(/^[-.]+|[-.]+$/g, '')
    .slice(0, 40);
  return name === '' ? 'businesses' : name;
}
