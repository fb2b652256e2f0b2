/**
 * Our side of merging: the stage itself on a run whose parts are all on the disk, gzipped, and the work file with
 * its synced appends and commits. Publishing comes after that and is not part of it.
 * node bench/ours/merge.js CONFIG RUN OUTPUT
 */
import { renameSync } from 'node:fs';
import { appendMerged, mergeResults, withRun } from '../../dist/bundle/index.js';
import { workPathOf } from '../../dist/src/files/work-file.js';
import { timed } from '../timed.js';
import { readConfig } from './read-config.js';

const [configFile, existing, output] = process.argv.slice(2);
const config = readConfig(configFile);
await timed(() =>
  withRun(config, { existing }, async (run) => {
    await run.checkpoint.recordUnmerged(run.id, 1);
    await appendMerged(run)(mergeResults(run)(nothingToFetch()));
    renameSync(workPathOf(config.output.path, run.id, config.stateDir), output);
    const { successful, failed } = (await run.checkpoint.tally(run.id)).counts;
    return { records: successful + failed };
  }),
);

async function* nothingToFetch() {}
