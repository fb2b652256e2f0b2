/**
 * Our side of chunking: the stage itself on a run that has begun, over the real checkpoint and the real files,
 * each chunk committed. The check of the source came before: it is a case of its own.
 * node bench/ours/chunk.js CONFIG
 */
import { chunkRecords, withRun } from '../../dist/bundle/index.js';
import { timed } from '../timed.js';
import { readConfig } from './read-config.js';

const config = readConfig(process.argv[2]);
await timed(() =>
  withRun(config, {}, async (run) => {
    let chunks = 0;
    let records = 0;
    for await (const { records: cut } of chunkRecords(run)()) {
      chunks += 1;
      records += cut;
    }
    return { chunks, records };
  }),
);
