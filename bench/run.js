/**
 * The whole client as a process of its own, against the local service in another one.
 * node bench/run.js [--records 1000000] [--runs 3] [--chunk 10000]
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';

const here = fileURLToPath(new URL('.', import.meta.url));
const cli = join(here, '../dist/src/cli.js');
const { values } = parseArgs({
  options: {
    records: { type: 'string', default: '1000000' },
    runs: { type: 'string', default: '3' },
    chunk: { type: 'string', default: '10000' },
  },
});

const folder = mkdtempSync(join(tmpdir(), 'foliopipe-bench-'));
try {
  const source = await generate(Number(values.records));
  const rows = [];
  for (let run = 1; run <= Number(values.runs); run++)
    rows.push(await measure(source, join(folder, `${run}`)));
  print(rows);
} finally {
  rmSync(folder, { recursive: true, force: true });
}

async function generate(records) {
  const path = join(tmpdir(), `foliopipe-bench-${records}.csv`);
  if (existsSync(path)) return path;
  await succeed(
    spawn(process.execPath, [
      join(here, 'generate.js'),
      '--records',
      `${records}`,
      '--seed',
      '1',
      '--out',
      path,
    ]),
  );
  return path;
}

/** One run with a service and a state of its own. */
async function measure(source, work) {
  const token = 'bench';
  const service = spawn(
    process.execPath,
    [cli, 'serve', '--port', '0', '--predictor', 'hash', '--token', token, '--data', join(work, 'service')],
    { stdio: ['ignore', 'pipe', 'ignore'] },
  );
  try {
    const baseUrl = await address(service);
    const config = {
      pipeline: 'bench',
      source: { path: source },
      upload: { columns: { name: 'BusinessName', address: 'Address', state: 'State' } },
      service: { baseUrl, token, requestsPerSecond: 1000 },
      chunks: { maxRecords: Number(values.chunk) },
      poll: { first: '50ms' },
      failures: { tolerate: 1 },
      output: { path: join(work, 'out.csv') },
      stateDir: join(work, 'state'),
    };
    const file = join(folder, 'bench.yaml');
    writeFileSync(file, JSON.stringify(config));
    const usage = join(folder, 'usage.json');
    const began = performance.now();
    await succeed(
      spawn(
        process.execPath,
        [
          '--import',
          pathToFileURL(join(here, 'measure-exit.js')).href,
          cli,
          'run',
          file,
          '--log-level',
          'warn',
        ],
        {
          stdio: ['ignore', 'ignore', 'pipe'],
          env: { ...process.env, FOLIOPIPE_BENCH_USAGE: usage },
        },
      ),
    );
    return { wallSeconds: (performance.now() - began) / 1000, ...JSON.parse(readFileSync(usage, 'utf8')) };
  } finally {
    service.kill();
    await once(service, 'exit');
    rmSync(work, { recursive: true, force: true });
  }
}

async function address(service) {
  for await (const line of createInterface({ input: service.stdout })) {
    const found = /listening on (\S+)/.exec(line);
    if (found) return found[1];
  }
  throw new Error('the service ended before it listened');
}

async function succeed(child) {
  let told = '';
  child.stderr?.on('data', (text) => {
    told += text;
  });
  const [code] = await once(child, 'exit');
  if (code !== 0) throw new Error(`a process ended with ${code}: ${told}`);
}

function print(rows) {
  const of = (name) => rows.map((row) => row[name]).sort((a, b) => a - b);
  const figures = [
    ['wall seconds', of('wallSeconds')],
    ['user CPU seconds', of('userSeconds')],
    ['system CPU seconds', of('systemSeconds')],
    ['peak RSS MiB', of('peakRssMiB')],
  ];
  console.log(
    `${values.records} records, ${rows.length} runs, node ${process.version}, ${cpus().length} x ${cpus()[0]?.model}`,
  );
  console.log('| figure | min | median | max |\n|---|---|---|---|');
  for (const [name, sorted] of figures) {
    const shown = [sorted[0], sorted[sorted.length >> 1], sorted.at(-1)].map((value) => value.toFixed(1));
    console.log(`| ${name} | ${shown.join(' | ')} |`);
  }
}
