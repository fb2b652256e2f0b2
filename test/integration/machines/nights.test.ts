/**
 * Nights with a state in Postgres: stored answers, choices, doubles and deltas go on on another machine. Each night ends
 * on another machine than it began on, which is killed and loses all that it had.
 */
import { copyFile, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { useSharedFolder } from '../../helpers/folders/folders.js';
import { createJob, enrichJob, type Job } from '../../helpers/jobs/cli-job.js';
import { endLeases, loseMachine, openSite, type Site } from '../../helpers/postgres/machines.js';
import { openPostgres, type PostgresServer } from '../../helpers/postgres/postgres.js';
import { jsonLines } from '../../helpers/processes/cli.js';
import { openServe, type Serve, servedFolios } from '../../helpers/service/serve.js';

const RECORDS = 60;
const folder = useSharedFolder();
let server: PostgresServer;
let serve: Serve;
let dataDir: string;

beforeAll(async () => {
  dataDir = join(await folder(), 'service');
  serve = await openServe(dataDir, { segmentRecords: 7 });
  server = await openPostgres();
}, 60_000);

afterAll(async () => {
  await serve.stop();
  await server.close();
});

const settings = {
  source: { key: ['id'] },
  upload: { duplicates: 'once' },
  reuse: { maxAge: '90d', maxMiss: '100%' },
  output: { delta: true },
  // No other upload is in flight when one is killed.
  concurrency: { uploads: 1 },
};

/** Every night some records are changed, some are new, some are gone, and their order is another. Some are equal. */
function nightText(night: number): string {
  const rows = Array.from({ length: RECORDS }, (_, at) => {
    const id = at + 1 + night * 2;
    const name = id % 7 === 0 ? 'Twin Rivers Roofing' : `Harbor Hardware ${id}`;
    return `${id},${name},${id % 7 === 0 ? 1 : id} Main St,${id % 11 === night ? 'WY' : 'MT'}`;
  });
  const turned = [...rows.slice(night * 9), ...rows.slice(0, night * 9)];
  return `id,BusinessName,Address,State\n${turned.join('\n')}\n`;
}

/** The records that the service was sent for a pipeline, by upload. */
async function sentRecords(pipeline: string): Promise<number[]> {
  const { port } = serve;
  await serve.stop();
  const folios = servedFolios(dataDir).filter(({ fileName }) => fileName.startsWith(`${pipeline}-`));
  serve = await openServe(dataDir, { port, segmentRecords: 7 });
  return folios.map(({ records }) => records);
}

const outputsOf = (output: string) =>
  Promise.all([output, `${output}.delta.csv`].map((path) => readFile(path, 'utf8')));

async function withNights(
  pipeline: string,
  files: 'postgres' | 'folder',
  use: (site: Site, unbroken: Job) => Promise<void>,
): Promise<void> {
  const place = { parent: folder, server, baseUrl: serve.url, records: RECORDS, chunks: 6 };
  const site = await openSite({ ...place, pipeline, files, settings });
  const unbroken = await createJob(await folder(), {
    pipeline: `un${pipeline}`,
    baseUrl: serve.url,
    settings,
  });
  await use(site, unbroken);
}

it(
  'each night is finished on another machine after a kill: the same rows and delta, and nothing is paid twice',
  () =>
    withNights('broken', 'postgres', async (site, unbroken) => {
      const points = [
        'after-accepted-before-poll',
        'after-choice-before-run',
        'after-part-before-downloaded',
        'after-digests-before-delta',
        'after-rename-before-manifest',
        'after-base-before-done',
      ];
      for (const [night, point] of points.entries()) {
        const text = nightText(night);
        await writeFile(site.source, text);
        await writeFile(unbroken.source, text);
        await enrichJob(unbroken);
        const first = await site.machine(`first-${night}`);
        const killed = await first.killed(`${point}:1:kill`, 'run');
        expect(killed, point).toMatchObject({ signal: 'SIGKILL' });
        await loseMachine(site, first);
        const second = await site.machine(`second-${night}`);
        const ended = await second.call('run', '--json');
        expect(ended, `${point} ${ended.stderr}`).toMatchObject({ code: 0 });
        expect(jsonLines(ended.stdout).at(-1)).toMatchObject({ uploads: { ambiguous: 0 } });
        expect(await outputsOf(site.output), point).toEqual(await outputsOf(unbroken.output));
        await loseMachine(site, second);
      }
      const [sent, known] = [await sentRecords('broken'), await sentRecords('unbroken')];
      expect(sent).toEqual(known);
      // On the last night nearly all was known.
      expect(sent.at(-1)).toBeLessThan(RECORDS / 4);
    }),
  60_000,
);

it('commands for stored answers work on every machine, with the files in a shared folder', () =>
  withNights('commands', 'folder', async (site) => {
    const on = async (name: string, ...words: string[]) => {
      const machine = await site.machine(name);
      const ended = await machine.call(...words, '--json');
      expect(ended, `${words.join(' ')} ${ended.stderr}`).toMatchObject({ code: 0 });
      await endLeases(site);
      return jsonLines(ended.stdout).at(-1) as Record<string, unknown>;
    };
    await writeFile(site.source, nightText(0));
    await on('one', 'run');
    const paid = (await sentRecords('commands')).reduce((sum, records) => sum + records, 0);
    expect(await on('two', 'reuse', 'show')).toMatchObject({ all: { segments: 1 } });
    expect(await on('two', 'reuse', 'forget', '--key', '7')).toMatchObject({
      segments: [{ left: paid - 1 }],
    });
    await writeFile(site.source, nightText(0).replace('Hardware 5,', 'Hardware V,'));
    // The records that share an answer with number 7 are one.
    expect(await on('three', 'plan')).toMatchObject({ reuse: { sent: 2 } });
    await on('three', 'run');
    expect((await sentRecords('commands')).at(-1)).toBe(2);
    expect(await on('four', 'reuse', 'forget', '--all')).toMatchObject({ segments: [{}, {}] });
    // Without its manifest it is no rehearsal.
    const bought = `${site.source}.bought.csv`;
    await copyFile(site.output, bought);
    expect(await on('five', 'reuse', 'import', bought)).toMatchObject({ successful: expect.any(Number) });
    expect(await on('six', 'reuse', 'prune')).toMatchObject({ runs: [] });
    expect(await on('seven', 'plan', '--new')).toMatchObject({ reuse: { sent: 0 } });
  }));
