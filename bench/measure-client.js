/** One run of the whole client, with a state and a service of its own. */
import { writeFileSync } from 'node:fs';
import { jobConfig } from './job.js';
import { measureNode } from './measure.js';
import { cli, withService } from './service.js';

/**
 * @param work an empty folder; the output is its `out.csv`.
 * @param program the command line to measure; the service is always that of this build.
 */
export function measureClient(work, source, program = cli) {
  return withService(`${work}/service`, (baseUrl) => {
    const config = `${work}/config.json`;
    writeFileSync(config, JSON.stringify(jobConfig({ source, work, baseUrl })));
    return measureNode([program, 'run', config, '--log-level', 'warn']);
  });
}
