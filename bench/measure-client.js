/** One run of the whole client, with a state and a service of its own. */
import { onlyRun } from './begin-run.js';
import { writeJob } from './job.js';
import { measureNode } from './measure.js';
import { cli, withService } from './service.js';

/**
 * @param work an empty folder; the config is its `config.json`, the output its `out.csv`.
 * @param program the command line to measure; the service is always that of this build.
 * @param shape what differs from the usual: `config` has sections of the config, `service` the service's options, `env`
 *   variables of the client.
 */
export function measureClient(work, source, program = cli, { config = {}, service = [], env } = {}) {
  const run = (baseUrl) => {
    const path = writeJob({ source, work, baseUrl }, config);
    return measureNode([program, 'run', path, '--log-level', 'warn'], env);
  };
  return withService(`${work}/service`, run, service);
}

/** Makes a run that is done and has all its parts on the disk: its config, the folder of its parts, its output. */
export async function finishedRun(lab, source) {
  const work = lab.emptyFolder('finished');
  await measureClient(work, source);
  return { config: `${work}/config.json`, folder: onlyRun(work), published: `${work}/out.csv` };
}
