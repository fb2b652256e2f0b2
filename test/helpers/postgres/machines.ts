/** Machines that share a state in Postgres: each is a folder with a config. All of them see the source and the output. */
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { sourceText } from '../jobs/cli-job.js';
import { cliEnv, cliSections, type Sections, withSections } from '../jobs/job-sections.js';
import { callMain } from '../processes/call-main.js';
import { type CliEnd, killCliAt } from '../processes/cli.js';
import type { Database, PostgresServer } from './postgres.js';

export interface Site {
  readonly database: Database;
  readonly source: string;
  readonly output: string;
  readonly pipeline: string;
  /** A new machine. */
  machine(name: string): Promise<Machine>;
}

export interface Machine {
  readonly folder: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Runs a command of the command line, in this process. */
  call(...words: string[]): Promise<Omit<CliEnd, 'signal'>>;
  /** The same in a process of its own, which is killed at a failpoint. */
  killed(point: string, ...words: string[]): Promise<CliEnd>;
}

export interface SiteOptions {
  readonly parent: () => Promise<string>;
  readonly server: PostgresServer;
  readonly baseUrl: string;
  readonly pipeline: string;
  /** Where parts and other shared files are. */
  readonly files?: 'postgres' | 'folder';
  readonly records: number;
  readonly chunks: number;
  readonly settings?: Sections;
}

/** Writes a source that all machines see, and makes an empty database. */
export async function openSite(options: SiteOptions): Promise<Site> {
  const { server, pipeline, records, chunks, files = 'postgres' } = options;
  const site = join(await options.parent(), pipeline);
  const folder = join(site, 'shared');
  await mkdir(folder, { recursive: true });
  const source = join(folder, 'source.csv');
  await writeFile(source, sourceText(records));
  const database = await server.createDatabase();
  const output = join(folder, 'out', 'enriched.csv');
  const shared = {
    source: { path: source },
    chunks: { maxRecords: records / chunks },
    output: { path: output },
  };
  const sections = cliSections(options.baseUrl, withSections(shared, options.settings));
  const place = {
    state: `\${STATE_URL}`,
    files: files === 'postgres' ? files : `file://${join(folder, 'parts')}`,
  };
  const machine = async (name: string): Promise<Machine> => {
    const own = join(site, name);
    await mkdir(own, { recursive: true });
    const file = join(own, 'job.yaml');
    await writeFile(file, JSON.stringify({ pipeline, ...sections, ...place }));
    const env = { ...cliEnv, STATE_URL: database.url };
    const args = ['-c', file];
    return {
      folder: own,
      args,
      env,
      call: (...words) => callMain([...words, ...args], { cwd: own, env }),
      killed: (point, ...words) => killCliAt(point, [...words, ...args], { cwd: own, env }),
    };
  };
  return { database, source, output, pipeline, machine };
}

/** Ends the leases of machines that are gone now, rather than in half a minute. */
export async function endLeases({ database }: Pick<Site, 'database'>): Promise<void> {
  await database.query("UPDATE foliopipe.leases SET until = now() - interval '1 second'");
}

/** Loses a machine, with all its files. */
export async function loseMachine(site: Site, { folder }: Pick<Machine, 'folder'>): Promise<void> {
  await rm(folder, { recursive: true });
  await endLeases(site);
}
