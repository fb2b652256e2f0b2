/**
 * Begins a run: checks the source and does nothing else. A program that chunks it later goes on from there.
 * node bench/ours/begin.js CONFIG
 */
import { withRun } from '../../dist/bundle/index.js';
import { readConfig } from './read-config.js';

await withRun(readConfig(process.argv[2]), {}, async () => undefined);
