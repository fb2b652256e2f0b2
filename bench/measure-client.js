/** One run of the whole client, with a state and a service of its own. */
import { onlyRun } from './begin-run.js';
import { writeJob } from './job.js';
import { measureNode } from './measure.js';
import { cli, withService } from './service.js';

/**
 * @param work an empty folder; the config is its `config.json`, the output its `out.csv`.
 * @param program the command line to measure; the service is always that of this build.
 */
export function measureClient(work, source, program = cli) {
  return withService(`${work}/service`, (baseUrl) => {
    const config = writeJob({ source, work, baseUrl });
    return measureNode([program, 'run', config, '--log-level', 'warn']);
  });
}

/** Makes a run that is done and has all its parts on the disk: its config, the folder of its parts, its output. */
export async function finishedRun(lab, source) {
  const work = lab.emptyFolder('finished');
  await measureClient(work, source);
  return { config: `${work}/config.json`, folder: onlyRun(work), published: `${work}/out.csv` };
}
