/** A job whose source is copied into the spool before it is read: standard input, a query, or Parquet files. */
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { openCheckpointReader, type Run } from '../../../pipelines/index.js';
import { type Changes, type Job, withJob } from './fake-service-job.js';
import { behaviour } from './interrupted-job.js';

export interface SpooledJob extends Job {
  /** The config file, for the command line. */
  readonly file: string;
  /** Paths of all files in the spool, relative to it. */
  spooled(): Promise<string[]>;
  /** The runs, newest first. */
  runs(): Promise<readonly Run[]>;
}

/** @param source the section `source`; another config can be given for each run of the job. */
export async function withSpooledJob(
  source: Changes,
  use: (job: SpooledJob) => Promise<void>,
  config: Changes = {},
): Promise<void> {
  const sections = { source: { path: null, ...source }, ...config };
  await withJob({ behaviour, config: sections }, async (job) => {
    const file = await job.writeConfig();
    const stateDir = join(job.folder, '.foliopipe');
    await use({
      ...job,
      file,
      spooled: async () => {
        const found = await readdir(join(stateDir, 'spool'), { recursive: true }).catch(() => []);
        const isFile = async (name: string) => (await stat(join(stateDir, 'spool', name))).isFile();
        const kept = await Promise.all(found.map(async (name) => ((await isFile(name)) ? [name] : [])));
        return kept.flat().sort();
      },
      runs: async () => {
        const reader = (await openCheckpointReader(stateDir))!;
        try {
          return await reader.runs('hostile');
        } finally {
          await reader.close();
        }
      },
    });
  });
}
