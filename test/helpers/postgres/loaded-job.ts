/** A job whose output is loaded into a table of a real database. */
import { readFile, writeFile } from 'node:fs/promises';
import { parse } from 'csv-parse/sync';
import { stringify } from 'csv-stringify/sync';
import { predictedAnswer } from '../../fake-service/parts.js';
import { type Changes, type Job, withJob } from '../jobs/fake-service-job.js';
import type { Database } from './postgres.js';

export interface Business {
  readonly id: string;
  readonly Business: string;
  readonly Note?: string;
}

export type Row = Readonly<Record<string, string | null>>;

export interface LoadedJob extends Job {
  readonly database: Pick<Database, 'url' | 'place' | 'query'>;
  /** The config file, for the command line. */
  readonly file: string;
  /** The businesses that the service fails from now on, by name. */
  readonly failing: Set<string>;
  write(businesses: readonly Business[]): Promise<void>;
  /** The rows of the output, by the names of the columns in the table. Empty cells are null. */
  rows(): Promise<Row[]>;
  /** The rows of the table, sorted by id and run, without the column of the run. */
  table(name?: string): Promise<Row[]>;
  /** The rows of `foliopipe_loads`, without times. */
  loads(): Promise<Record<string, unknown>[]>;
}

/** @param load keys of the section `load`. */
export async function withLoadedJob<Loaded extends LoadedJob['database'] = Database>(
  server: { createDatabase(): Promise<Loaded> },
  load: Changes,
  use: (job: LoadedJob & { readonly database: Loaded }) => Promise<void>,
): Promise<void> {
  const database = await server.createDatabase();
  const failing = new Set<string>();
  const behaviour = {
    answer: (record: Readonly<Record<string, string>>) =>
      failing.has(record.name!)
        ? { status: 'FAILED' as const, added: { reason: 'too dark' } }
        : predictedAnswer(record),
  };
  const sections = {
    source: { path: 'source.csv', key: ['id'] },
    upload: { columns: { name: 'Business', address: 'Address', state: 'State' } },
    load: { into: database.url, table: 'businesses', onSchema: 'add', ...load },
  };
  await withJob({ behaviour, config: sections }, async (job) => {
    const file = await job.writeConfig();
    await use({
      ...job,
      database,
      file,
      failing,
      write: (businesses) => writeFile(job.sourcePath, sourceOf(businesses)),
      rows: async () => readRows(await readFile(job.outputPath)),
      table: async (name = 'businesses') => {
        const rows = await database.query(`select * from ${name} order by id, 2`);
        return rows.map(({ foliopipe_run: _, ...row }) => row as Row);
      },
      loads: async () => {
        const rows = await database.query(
          'select publication::int, mode, base::int, records::int, written::int, removed::int from foliopipe_loads order by publication',
        );
        return rows;
      },
    });
  });
}

export function sourceOf(businesses: readonly Business[]): string {
  return stringify(
    businesses.map(({ id, Business: name, Note = '' }) => [id, name, '1 Main St', 'MT', Note]),
    { header: true, columns: ['id', 'Business', 'Address', 'State', 'Note'] },
  );
}

function readRows(output: Buffer): Row[] {
  const [header, ...rows] = parse(output) as string[][];
  const names = header!.map((name) => name.toLowerCase());
  return rows
    .map((row) => Object.fromEntries(row.map((value, at) => [names[at]!, value === '' ? null : value])))
    .sort((a, b) => (a.id! < b.id! ? -1 : 1));
}
