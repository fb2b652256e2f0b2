/** A job for the command line: a folder with a config and a source full of awkward records. */
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { enrich, loadConfig, type RunSummary } from '../../../pipelines/index.js';
import { killCliAt } from '../processes/cli.js';
import { cliEnv, cliSections, type Sections, withSections } from './job-sections.js';

export interface JobOptions {
  readonly pipeline?: string;
  readonly baseUrl?: string;
  readonly records?: number;
  /** Records a chunk. */
  readonly chunk?: number;
  readonly settings?: Sections;
}

export interface Job {
  readonly folder: string;
  readonly config: string;
  readonly source: string;
  readonly output: string;
  readonly stateDir: string;
  /** Environment variables that the config needs. */
  readonly env: Readonly<Record<string, string>>;
}

/** Writes source and config into `<parent>/<pipeline>`. Without `baseUrl` the service cannot be reached. */
export async function createJob(parent: string, options: JobOptions = {}): Promise<Job> {
  const { pipeline = 'nightly', baseUrl = 'http://127.0.0.1:9', records = 60, chunk = 10 } = options;
  const folder = join(parent, pipeline);
  await mkdir(folder, { recursive: true });
  const sections = cliSections(baseUrl, withSections({ chunks: { maxRecords: chunk } }, options.settings));
  const paths = { config: join(folder, 'job.yaml'), source: join(folder, 'source.csv') };
  // JSON is valid YAML.
  await writeFile(paths.config, JSON.stringify({ pipeline, ...sections, stateDir: 'state' }, null, 2));
  await writeFile(paths.source, sourceText(records));
  return {
    ...paths,
    folder,
    output: join(folder, 'out', 'enriched.csv'),
    stateDir: join(folder, 'state'),
    env: cliEnv,
  };
}

/** The same as `foliopipe run`, in this process. */
export async function enrichJob({ config, env, folder }: Job): Promise<RunSummary> {
  return enrich(await loadConfig({ files: [config], env, overrides: [], cwd: folder }));
}

/** The same in a process of its own, which must kill itself at a failpoint, as `killCliAt` has it. */
export async function killJobAt(job: Job, armed: string, ...flags: string[]): Promise<void> {
  await killCliAt(armed, ['run', job.config, ...flags], { env: job.env });
}

/** Quoted commas, quotes and newlines, equal records, an empty name, letters beyond ASCII. */
export function sourceText(records: number): string {
  const kinds = [
    (n: number) => `Harbor Hardware ${n},${n} Main St,MT,plain`,
    (n: number) => `"Zamora, Inc. ${n}","${n} Oak Ave, Suite 5",MA,"said ""open"""`,
    (n: number) => `"Benoît\nHoldings ${n}",${n} Church St,ID,"two\nlines"`,
    () => 'Twin Rivers Roofing,9155 Higgins Ave,MT,the same each time',
    (n: number) => `,${n} Elm St,ME,no name`,
  ];
  const rows = Array.from({ length: records }, (_, at) => kinds[at % kinds.length]!(at + 1));
  return `BusinessName,Address,State,Note\n${rows.join('\n')}\n`;
}

/** Paths of all files under a folder, relative to it. */
export async function filesUnder(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1));
}

/** Files under a folder that contain a text. */
export async function filesHolding(folder: string, text: string): Promise<string[]> {
  const found: string[] = [];
  for (const file of await filesUnder(folder)) {
    if ((await readFile(join(folder, file))).includes(text)) found.push(file);
  }
  return found;
}
