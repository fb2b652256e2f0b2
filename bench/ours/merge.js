/**
 * Our side of merging: the stage itself on a run whose parts are all on the disk, gzipped, and the work file with
 * its synced appends and commits. Publishing comes behind that and is not part of it.
 * node bench/ours/merge.js CONFIG RUN OUTPUT
 */
import { renameSync } from 'node:fs';
import { mergeResults, withRun } from '../../dist/src/index.js';
import { createOutputLayout, outputHeader } from '../../dist/src/results/output-layout.js';
import { openWorkFile, workPath } from '../../dist/src/stages/work-file.js';
import { timed } from '../timed.js';
import { readConfig } from './read-config.js';

const [configFile, existing, output] = process.argv.slice(2);
const config = readConfig(configFile);
await timed(() =>
  withRun(config, { existing }, async (run) => {
    await run.checkpoint.recordUnmerged(run.id, 1);
    const layout = createOutputLayout(run.source, config.output);
    const work = await openWorkFile(run);
    let records = 0;
    for await (const { number, bytes, counts, columns } of mergeResults(run)(nothingToFetch())) {
      if (work.length === 0) await work.append(outputHeader(layout, columns), bytes);
      else await work.append(bytes);
      await run.checkpoint.recordMerged(run.id, number, counts, work.length);
      records += counts.successful + counts.failed;
    }
    await work.close();
    renameSync(workPath(run), output);
    return { records };
  }),
);

async function* nothingToFetch() {}
