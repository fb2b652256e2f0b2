/**
 * Gives the rows of a run that is done, as objects: merged from the parts on the disk. The time is that of the loop.
 * node bench/ours/records-out.js WORK
 */
import { enrichedRecords, parseConfig, withRun } from '../../dist/bundle/index.js';
import { jobConfig, NO_SERVICE } from '../job.js';
import { timed } from '../timed.js';

const [work, baseUrl = NO_SERVICE] = process.argv.slice(2);
const { source: _, ...rest } = jobConfig({ work, baseUrl });
await withRun(parseConfig(rest, work), { existing: true }, (run) =>
  timed(async () => {
    let records = 0;
    let characters = 0;
    for await (const row of enrichedRecords(run)) {
      records += 1;
      characters += row.BusinessName.length + row.prediction_status.length;
    }
    return { records, characters };
  }),
);
