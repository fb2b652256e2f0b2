/** Machines that share a state in Postgres: each is a folder with a config. Source and output are where all see them. */
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { sourceText } from '../jobs/cli-job.js';
import { callMain } from '../processes/call-main.js';
import { type CliEnd, killCliAt } from '../processes/cli.js';
import { serveToken } from '../service/serve.js';
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
  /** Where parts and what else is shared are. */
  readonly files?: 'postgres' | 'folder';
  readonly records: number;
  readonly chunks: number;
  /** Sections of the config; their keys replace the default ones. */
  readonly settings?: Readonly<Record<string, object>>;
}

/** Writes a source that all machines see, and makes an empty database. */
export async function openSite(options: SiteOptions): Promise<Site> {
  const { server, pipeline, records, chunks, files = 'postgres' } = options;
  const site = join(await options.parent(), pipeline);
  const shared = join(site, 'shared');
  await mkdir(shared, { recursive: true });
  const source = join(shared, 'source.csv');
  await writeFile(source, sourceText(records));
  const database = await server.createDatabase();
  const output = join(shared, 'out', 'enriched.csv');
  const sections: Record<string, object> = {
    source: { path: source },
    upload: { columns: { name: 'BusinessName', address: 'Address', state: 'State' } },
    service: { baseUrl: options.baseUrl, token: `\${FOLIOPIPE_TOKEN}`, requestsPerSecond: 1000 },
    chunks: { maxRecords: records / chunks },
    poll: { first: '20ms', max: '100ms', lostAfter: '300ms' },
    failures: { tolerate: '100%' },
    output: { path: output },
  };
  for (const [name, section] of Object.entries(options.settings ?? {})) {
    sections[name] = { ...sections[name], ...section };
  }
  const place = {
    state: `\${STATE_URL}`,
    files: files === 'postgres' ? files : `file://${join(shared, 'parts')}`,
  };
  const machine = async (name: string): Promise<Machine> => {
    const own = join(site, name);
    await mkdir(own, { recursive: true });
    const file = join(own, 'job.yaml');
    await writeFile(file, JSON.stringify({ pipeline, ...sections, ...place }));
    const env = { FOLIOPIPE_TOKEN: serveToken, STATE_URL: database.url };
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

/** The leases of machines that are gone end now, and not in half a minute. */
export async function endLeases({ database }: Pick<Site, 'database'>): Promise<void> {
  await database.query("UPDATE foliopipe.leases SET until = now() - interval '1 second'");
}

/** The machine is gone, with all that it had. */
export async function loseMachine(site: Site, { folder }: Pick<Machine, 'folder'>): Promise<void> {
  await rm(folder, { recursive: true });
  await endLeases(site);
}
