/** The client and the service as processes of their own. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { openSqlite } from '../../../dist/src/sqlite-driver.js';

const cli = fileURLToPath(new URL('../../../dist/bundle/cli.js', import.meta.url));
const token = 'crash';

/** Runs `foliopipe` in a folder with its `foliopipe.yaml`. @returns `summary`: the last line of stdout, if any. */
export async function foliopipe(cwd, args, env = {}) {
  const { PATH, HOME } = process.env;
  const child = spawn(process.execPath, [cli, ...args], {
    cwd,
    env: { PATH, HOME, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const output = { stdout: '', stderr: '' };
  for (const stream of ['stdout', 'stderr']) {
    child[stream].setEncoding('utf8').on('data', (text) => {
      output[stream] += text;
    });
  }
  const [code, signal] = await once(child, 'close');
  const last = output.stdout.trimEnd().split('\n').at(-1);
  return { end: signal ?? code, summary: last ? JSON.parse(last) : undefined, ...output };
}

/**
 * Starts the local service. The first polls of each folio find it unfinished, however late they come: so no folio is
 * finished while its run still uploads.
 * @param maxUpload larger files are refused.
 */
export async function startService(data, maxUpload = '1GB') {
  const rules = [{ on: 'track', folioCalls: { from: 1, to: 3 }, fault: { unknownStatus: 'PROCESSING' } }];
  const faults = `${data}-faults.yaml`;
  // JSON is YAML.
  writeFileSync(faults, JSON.stringify({ rules }));
  const flags = {
    port: 0,
    token,
    predictor: 'hash',
    'segment-records': 7,
    'max-upload': maxUpload,
    data,
    faults,
  };
  const args = Object.entries(flags).flatMap(([flag, value]) => [`--${flag}`, String(value)]);
  const child = spawn(process.execPath, [cli, 'serve', ...args], { stdio: ['ignore', 'pipe', 'ignore'] });
  for await (const line of createInterface({ input: child.stdout })) {
    const found = /listening on (\S+)/.exec(line);
    if (!found) continue;
    return {
      settings: { baseUrl: found[1], token, requestsPerSecond: 1000 },
      stop: async () => {
        child.kill('SIGTERM');
        await once(child, 'exit');
      },
    };
  }
  throw new Error('the service ended before it listened');
}

/** The folios that a stopped service has accepted, by the pipeline that sent them. */
export function servedFolios(data) {
  const rows = query(join(data, 'service.db'), 'SELECT folio, file_name AS name FROM folios');
  const pipelineOf = ({ name }) => name.replace(/-\d{8}T.*$/, '');
  return (pipeline) => rows.filter((row) => pipelineOf(row) === pipeline).map(({ folio }) => folio);
}

/** Rows of a database. */
export function query(path, sql) {
  const database = openSqlite(path, { readonly: true });
  try {
    return database.prepare(sql).all();
  } finally {
    database.close();
  }
}
