/**
 * The programs of our stages that are measured with their start, joined into few files as the command is (bundle.js at
 * the top): else loading some hundred modules, which no user pays, would count as the stage's work.
 */
import { isBuiltin } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'rolldown';
import { program } from './lab.js';

const STAGES = ['chunk', 'decode', 'merge', 'scan'];
const joined = fileURLToPath(new URL('../dist/bench/', import.meta.url));
/** Packages that the command's bundle leaves out too. */
const OUTSIDE = [
  '@aws-sdk/client-s3',
  '@duckdb/node-api',
  'better-sqlite3',
  'pg',
  'pg-boss',
  'pg-copy-streams',
  'pino',
];

/** Joins all of them; needs `npm run build`. */
export async function joinStagePrograms() {
  await build({
    input: Object.fromEntries(STAGES.map((stage) => [stage, program(`ours/${stage}.js`)])),
    platform: 'node',
    external: (id) => isBuiltin(id) || OUTSIDE.includes(id),
    logLevel: 'warn',
    output: { dir: joined, format: 'esm', cleanDir: true },
  });
}

/** Path of the joined program of a stage. */
export function stageProgram(stage) {
  return join(joined, `${stage}.js`);
}
