/** The commonest mistakes of newcomers and operators: how each is made, in a folder with a good config and source. */
import { gzipSync } from 'node:zlib';
import type { Behaviour } from '../fake-service/behaviour.js';

export interface Mistake {
  /** What is wrong, in a few words. */
  readonly what: string;
  /** The words behind `foliopipe`. */
  readonly typed: readonly string[];
  /** A text of the config and what stands in its place. */
  readonly config?: readonly [text: string, instead: string];
  /** Files that are written besides; null: the file is removed. */
  readonly files?: Readonly<Record<string, string | Uint8Array | null>>;
  /** Commands that were typed before. */
  readonly before?: readonly (readonly string[])[];
  /** Files that are written between these and the command. */
  readonly later?: Readonly<Record<string, string>>;
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly service?: Behaviour;
  /** Whether another process works on the pipeline. */
  readonly isHeld?: boolean;
}

/** The good source: it has as many records as the chunks of two files. */
export const businesses =
  'BusinessName,Address,State\nJuniper Bakery,9 Elm St,MT\nBitterroot Dental,12 Main St,MT\nElm Roofing,1 Oak St,ID\n';

/** @param baseUrl of the service. */
export const goodConfig = (baseUrl: string) => `pipeline: nightly
source:
  path: businesses.csv
upload:
  columns: { name: BusinessName, address: Address, state: State }
service:
  baseUrl: ${baseUrl}
  token: \${FOLIOPIPE_TOKEN}
chunks: { maxRecords: 2 }
poll: { first: 10ms, max: 10ms }
output:
  path: out/enriched.csv
`;

const run = ['run'];
const inSource = (what: string, content: string | Uint8Array, typed: readonly string[] = run): Mistake => ({
  what,
  typed,
  files: { 'businesses.csv': content },
});
const inConfig = (what: string, text: string, instead: string, typed: readonly string[] = run): Mistake => ({
  what,
  typed,
  config: [text, instead],
});

const first = ['a', 'b'].map((name) => `${name},1 Elm St,MT`).join('\n');

export const mistakes: readonly Mistake[] = [
  // What is typed.
  { what: 'no config here', typed: run, files: { 'foliopipe.yaml': null } },
  { what: 'a config that does not exist', typed: ['run', 'nigthly.yaml'] },
  { what: 'the end .yml in the place of .yaml', typed: ['run', '-c', 'foliopipe.yml'] },
  { what: 'the source in the place of the config', typed: ['run', 'businesses.csv'] },
  {
    what: 'two configs as arguments',
    typed: ['run', 'foliopipe.yaml', 'more.yaml'],
  },
  { what: 'a misspelt command', typed: ['satus'] },
  { what: 'a misspelt option', typed: ['run', '--dryrun'] },
  { what: 'no run named', typed: ['retry'] },
  { what: 'a config in the place of the run', typed: ['publish', 'foliopipe.yaml'] },
  { what: 'the token as a flag of its own', typed: ['run', '--token', 's3cret-token'] },
  { what: '--set without a value', typed: ['run', '--set', 'chunks.maxRecords'] },
  { what: 'the token in a flag', typed: ['run', '--set', 'service.token=s3cret-token'] },
  { what: 'a deadline that is no time', typed: ['run', '--deadline', 'tomorrow'] },
  // The config.
  inConfig('a misspelt key', 'maxRecords', 'maxRecord'),
  inConfig('a value of the wrong type', 'maxRecords: 2', 'maxRecords: many'),
  inConfig('a duration without its unit', 'first: 10ms', 'first: 5'),
  inConfig('a size in a unit that is not known', 'maxRecords: 2', 'maxBytes: 8 megabytes'),
  inConfig('a tab before a key', '  path: businesses.csv', '\tpath: businesses.csv'),
  inConfig(
    'a key that is indented too little',
    '  path: businesses.csv',
    ' encoding: utf8\n  path: businesses.csv',
  ),
  { what: 'a variable that is not set', typed: run, env: { FOLIOPIPE_TOKEN: undefined } },
  inConfig(
    'a variable in braces without quotes',
    'source:\n  path: businesses.csv',
    `source: { path: \${NIGHTLY_SOURCE} }`,
  ),
  { what: 'a variable that names no key', typed: run, env: { FOLIOPIPE_CHUNKS__MAX_RECORD: '5' } },
  { what: 'an address without https://', typed: ['run', '--base-url', 'localhost:8787'] },
  { what: 'http:// to another machine', typed: ['run', '--base-url', 'http://predict.example'] },
  // The source.
  inConfig('a column that the source does not have', 'name: BusinessName', 'name: Business'),
  { what: 'a source that does not exist', typed: ['run', '--source', 'busineses.csv'] },
  { what: 'a pattern that matches nothing', typed: ['run', '--source', 'exports/*.csv'] },
  { what: 'a folder as the source', typed: ['run', '--source', '.'] },
  { what: 'an address as the source', typed: ['run', '--source', 'https://files.example/businesses.csv'] },
  inSource('an empty source', ''),
  inSource('a source with a header only', 'BusinessName,Address,State\n'),
  inSource('semicolons, read with commas', businesses.replaceAll(',', ';'), [
    'run',
    '--set',
    'source.delimiter=,',
  ]),
  inSource(
    'Latin-1 in the place of UTF-8',
    Buffer.from(businesses.replace('Elm Roofing', 'Café Réaux'), 'latin1'),
  ),
  inSource('quotes within a field', businesses.replace('Elm Roofing', 'Elm "the best" Roofing')),
  inSource(
    'a comma in a field without quotes',
    `BusinessName,Address,State\n${first}\nc,1 Elm St, Suite 5,MT\nd,2 Elm St, Suite 6,MT\n`,
  ),
  inSource(
    'what R writes without col.names = NA',
    'BusinessName,Address,State\n1,a,1 Elm St,MT\n2,b,2 Elm St,MT\n',
  ),
  inSource('an Excel workbook', Buffer.from('PK\u0003\u0004\u0014\0\u0006\0[Content_Types].xml', 'latin1')),
  inSource('JSON', '[{"BusinessName": "Juniper Bakery", "State": "MT"}]\n'),
  inSource('Parquet under another name', Buffer.from('PAR1\u0015\u0004', 'latin1')),
  inSource('a gzip file that is cut off', gzipSync(businesses).subarray(0, -12)),
  // Where things are written.
  { what: 'the output is the source', typed: ['run', '--output', 'businesses.csv'] },
  {
    what: 'a file in the place of the output folder',
    typed: ['run', '--output', 'businesses.csv/enriched.csv'],
  },
  { what: 'a state folder in which nobody may write', typed: ['run', '--state-dir', '/proc/state'] },
  // The service.
  { what: 'check, and the service is down', typed: ['check', '--base-url', 'http://127.0.0.1:9'] },
  {
    what: 'a wrong token',
    typed: run,
    service: { trouble: () => ({ kind: 'answer', status: 401, body: '{"message":"invalid token"}' }) },
  },
  {
    what: 'an address where the service is not',
    typed: run,
    service: { trouble: () => ({ kind: 'answer', status: 404, body: '<h1>Not Found</h1>' }) },
  },
  {
    what: 'a web server for files in the place of the service',
    typed: run,
    service: {
      trouble: () => ({ kind: 'answer', status: 501, body: "<h1>Unsupported method ('POST')</h1>" }),
    },
  },
  { what: 'a port that is taken', typed: ['serve', '--port', 'PORT', '--data', 'service'] },
  // Runs.
  { what: 'status before the first run', typed: ['status'] },
  { what: 'a run that does not exist', typed: ['status', '--run', '2025'], before: [run] },
  {
    what: 'the beginning of several runs',
    typed: ['status', '--run', '2'],
    before: [run, ['run', '--new']],
  },
  { what: 'publish, and the run is not done', typed: ['publish', 'last'], before: [['submit']] },
  { what: 'retry, and nothing has failed', typed: ['retry', 'last'], before: [run] },
  {
    what: 'the source was changed while its run is unfinished',
    typed: run,
    before: [['submit']],
    later: { 'businesses.csv': businesses.replace('Elm Roofing', 'Elm Roofing Inc') },
  },
  {
    what: 'the config was changed while its run is unfinished',
    typed: ['run', '--set', 'chunks.maxRecords=3'],
    before: [['submit']],
  },
  { what: 'a second run at the same time', typed: run, isHeld: true },
  { what: 'a budget that is too small', typed: ['run', '--set', 'budget.perRun=2'] },
  { what: 'load without a table in the config', typed: ['load'], before: [run] },
];
