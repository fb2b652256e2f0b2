/**
 * A fleet: real workers, which do what is enqueued; one is killed, one is drained, and a run waits for a person. On a Node
 * that is too old for pg-boss, the same commands say so.
 */
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DatabaseAddress } from '../../../src/config/sections/load-section.js';
import type { RunJob } from '../../../src/fleet/job.js';
import { createMakeUp } from '../../../src/fleet/missed-times.js';
import { openFleet } from '../../../src/fleet/open-fleet.js';
import type { FleetFacts } from '../../../src/fleet/read-fleet.js';
import { silentLogger } from '../../../src/logger.js';
import { useSharedFolder } from '../../helpers/folders/folders.js';
import { sourceText } from '../../helpers/jobs/cli-job.js';
import { cliSections } from '../../helpers/jobs/job-sections.js';
import { readMetrics } from '../../helpers/notify/parse-prometheus.js';
import { type Database, usePostgres } from '../../helpers/postgres/postgres.js';
import { openSilentNetwork } from '../../helpers/postgres/silent-network.js';
import { callMain, expectError } from '../../helpers/processes/call-main.js';
import { type CliProcess, jsonLines, spawnCli } from '../../helpers/processes/cli.js';
import { openServe, serveToken, useServe } from '../../helpers/service/serve.js';

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
const isOld = major < 22 || (major === 22 && minor < 12);
const commands = [['enqueue'], ['worker'], ['fleet']];

if (isOld) {
  describe('on an old Node', () => {
    it.each(commands)('%s is refused before anything else is looked at', async (command) => {
      expectError(await callMain([command, '-c', 'nowhere.yaml']), 2, /needs Node 22\.12 .*FLEET_NODE_OLD/);
    });
  });
} else {
  describe('a fleet', () => {
    const records = 60;
    const folder = useSharedFolder();
    const server = usePostgres();
    let database: Database;
    const serve = useServe({ segmentRecords: 7 });
    let unbroken: Buffer;
    const workers: CliProcess[] = [];

    const env = () => ({ FOLIOPIPE_TOKEN: serveToken, STATE_URL: database.url });

    async function writeConfig(pipeline: string, changes: object = {}): Promise<string> {
      const home = join(await folder(), pipeline);
      await mkdir(home, { recursive: true });
      await writeFile(join(home, 'source.csv'), sourceText(records));
      const config = {
        pipeline,
        ...cliSections(serve.url),
        state: `\${STATE_URL}`,
        ...changes,
      };
      await writeFile(join(home, 'job.yaml'), JSON.stringify(config));
      return join(home, 'job.yaml');
    }

    const outputOf = async (pipeline: string) =>
      readFile(join(await folder(), pipeline, 'out/enriched.csv')).catch(() => null);
    const isWhole = async (pipeline: string) => (await outputOf(pipeline))?.equals(unbroken) === true;

    async function call(...args: string[]) {
      const ended = await callMain([...args, '--json'], { env: env() });
      expect(ended, ended.stderr).toMatchObject({ code: 0 });
      return jsonLines(ended.stdout).at(-1)!;
    }

    const jobs = async (...args: string[]) => (await call('enqueue', ...args)).jobs;
    const fleet = async () => (await call('fleet', '--set', `state=\${STATE_URL}`)) as unknown as FleetFacts;

    /** Starts a worker as another machine does: it has no config, and a folder of its own. */
    async function startWorker(name: string, more: Record<string, string> = {}): Promise<CliProcess> {
      const cwd = join(await folder(), `machine-${name}`);
      await mkdir(cwd);
      const own = { FOLIOPIPE_STATE: database.url, FOLIOPIPE_TOKEN: serveToken, ...more };
      const worker = spawnCli(['worker', '--runs', '2', '--port', '0'], { cwd, env: own });
      workers.push(worker);
      await worker.waitFor('stderr', /up to 2 runs at once/);
      return worker;
    }

    beforeAll(async () => {
      database = await server.createDatabase();
      const file = await writeConfig('unbroken');
      expect(await callMain(['run', file], { env: env() })).toMatchObject({ code: 0 });
      unbroken = (await outputOf('unbroken'))!;
    }, 60_000);

    afterAll(async () => {
      for (const worker of workers) {
        worker.kill('SIGKILL');
        console.log((await worker.ended).stderr);
      }
    });

    it('has one job of a pipeline waiting, keeps schedules, and no secret', async () => {
      const file = await writeConfig('alpha', { schedule: '0 1 * * *', timeZone: 'Europe/Zurich' });
      expect(await fleet()).toMatchObject({ workers: [], waiting: [] });
      expect(await jobs(file)).toEqual([{ pipeline: 'alpha', state: 'enqueued', isScheduleStale: true }]);
      expect(await jobs(file)).toMatchObject([{ pipeline: 'alpha', state: 'waiting' }]);
      expect(await jobs('--schedule', file)).toMatchObject([{ state: 'scheduled', schedule: '0 1 * * *' }]);
      expect(await fleet()).toMatchObject({
        waiting: [{ pipeline: 'alpha', trouble: null }],
        schedules: [{ pipeline: 'alpha', schedule: '0 1 * * *', timeZone: 'Europe/Zurich' }],
      });
      const shown = await callMain(['fleet', file], { env: env() });
      expect(shown.stdout).toMatch(
        /1 job waits\n {2}alpha .*\n1 schedule\n.*\nno worker is running; start one/,
      );
      const kept = await database.query('select data::text from foliopipe_jobs.job');
      const schedules = await database.query('select data::text from foliopipe_jobs.schedule');
      // What keeps a second job of the pipeline from waiting, if its time comes while one waits.
      const singleton = "select options->>'singletonKey' as pipeline from foliopipe_jobs.schedule";
      expect(await database.query(singleton)).toEqual([{ pipeline: 'alpha' }]);
      for (const secret of [serveToken, new URL(database.url).password]) {
        expect(JSON.stringify([kept, schedules])).not.toContain(secret);
      }
      expect(await jobs('--schedule', await writeConfig('alpha'))).toMatchObject([{ state: 'unscheduled' }]);
    });

    it('ends a look by a role that may not see the jobs', async () => {
      const url = await database.role('viewer', 'viewer-secret');
      await database.query('GRANT USAGE ON SCHEMA foliopipe TO viewer');
      await database.query('GRANT SELECT ON ALL TABLES IN SCHEMA foliopipe TO viewer');
      const refused = await callMain(['fleet', await writeConfig('alpha')], {
        env: { ...env(), STATE_URL: url },
      });
      expectError(refused, 2, /STATE_DATABASE_DENIED/);
      // An open connection would keep the process from ending.
      const open = "SELECT 1 FROM pg_stat_activity WHERE usename = 'viewer'";
      await expect.poll(async () => (await database.query(open)).length).toBe(0);
    });

    it('starts no worker whose port is taken, and such a one takes no job', async () => {
      const { port } = new URL(serve.url);
      const own = { FOLIOPIPE_STATE: database.url, FOLIOPIPE_TOKEN: serveToken };
      const refused = await callMain(['worker', '--port', port], { env: own });
      expectError(refused, 2, /cannot listen on 127\.0\.0\.1, port \d+ .*WORKER_PORT_TAKEN/);
      expect(await fleet()).toMatchObject({ workers: [], waiting: [{ pipeline: 'alpha' }] });
    });

    it('of several configs, names the one that the next command is about', async () => {
      const schedule = { schedule: '0 1 * * *' };
      const [west, east] = [await writeConfig('west', schedule), await writeConfig('east', schedule)];
      const told = await callMain(['enqueue', west, east], { env: env() });
      expect(told, told.stderr).toMatchObject({ code: 0 });
      for (const file of [west, east]) {
        expect(told.stdout).toContain(`register it with: foliopipe enqueue -c ${file} --schedule\n`);
      }
      expect(told.stdout).toContain(`foliopipe fleet -c ${east}`);
      await writeConfig('east', { source: { path: '-' } });
      const refused = await callMain(['enqueue', west, east], { env: env() });
      expectError(refused, 2, /standard input.*FLEET_STDIN/);
      expect(refused.stderr).toContain(`foliopipe run -c ${east}`);
      await jobs('--remove', '-c', west, 'west', 'east');

      // Of a state that was copied, no run would begin.
      const mark = JSON.stringify({ mark: 'moved', place: '/srv/state', at: 0 });
      await database.query('INSERT INTO foliopipe.copy_marks VALUES (true, $1)', [mark]);
      const moved = /STATE_MOVED.*stateDir: \/srv\/state/s;
      expectError(await callMain(['enqueue', west], { env: env() }), 2, moved);
      await database.query('DELETE FROM foliopipe.copy_marks');
    });

    it('makes up once for the last time that was missed', async () => {
      const hour = new Date(Date.now() - 3_600_000).getUTCHours();
      const file = await writeConfig('missed', { schedule: `0 ${hour} * * *` });
      expect(await jobs('--schedule', file)).toMatchObject([{ state: 'scheduled' }]);
      expect((await fleet()).schedules).toMatchObject([{ missed: null }]);
      await database.query("update foliopipe_jobs.schedule set updated_on = now() - interval '3 days'");
      const [{ missed }] = (await fleet()).schedules as [FleetFacts['schedules'][number]];
      expect(missed).toMatchObject({ isMadeUp: true });
      const address = new DatabaseAddress(database.url);
      const options = { node: process.versions.node, logger: silentLogger };
      const [one, other] = [await openFleet(address, options), await openFleet(address, options)];
      try {
        const both = [one, other].map(({ queue, tables }) => createMakeUp(queue, tables, silentLogger)());
        await Promise.all(both);
        expect((await fleet()).waiting).toMatchObject([{}, { pipeline: 'missed', madeUpFor: missed!.at }]);
        for (const taken of await one.queue.take(2)) {
          if (taken.job.pipeline === 'missed') await one.queue.complete(taken, 0);
          else await one.queue.giveBack(taken, 0, undefined);
        }
        // The time has its job, also if nothing is seen of it.
        expect((await fleet()).schedules).toMatchObject([{ missed: null }]);
        expect(await other.queue.makeUp('missed', missed!.at)).toBe(false);
        expect(await other.queue.makeUp('missed', missed!.at + 1)).toBe(true);
        const [{ job }] = (await one.queue.waiting()).slice(-1) as unknown as [{ job: RunJob }];
        await one.queue.schedule({ ...job, pipeline: 'beside' }, '0 1 * * *', 'UTC');
        expect(await one.queue.makeUp('beside', missed!.at)).toBe(true);
        expect(await one.queue.remove('beside')).toEqual(['job', 'schedule']);
      } finally {
        await one.close();
        await other.close();
      }
      expect(await jobs('--remove', '-c', file, 'missed')).toMatchObject([{ removed: ['job', 'schedule'] }]);
    });

    it('says that --remove leaves the run alone that a worker does', async () => {
      const config = join(await folder(), 'alpha', 'job.yaml');
      const one = await openFleet(new DatabaseAddress(database.url), {
        node: process.versions.node,
        logger: silentLogger,
      });
      try {
        const [taken] = await one.queue.take(1);
        expect(taken).toMatchObject({ job: { pipeline: 'alpha' } });
        const told = await callMain(['enqueue', '--remove', '-c', config, 'alpha'], { env: env() });
        expect(told.stdout).toMatch(/there was nothing to remove; the run that a worker does now goes on/);
        await one.queue.giveBack(taken!, 0, undefined);
        // A worker that was silent reports the end of a run whose job another one has now.
        const [again] = await one.queue.take(1);
        await one.queue.complete(taken!, 0);
        await one.queue.giveBack(again!, 0, undefined);
      } finally {
        await one.close();
      }
      expect(await fleet()).toMatchObject({ waiting: [{ pipeline: 'alpha' }] });
    });

    it('counts the crashes of a pipeline on in a newer job of the same config', async () => {
      const file = await writeConfig('crashing');
      const one = await openFleet(new DatabaseAddress(database.url), {
        node: process.versions.node,
        logger: silentLogger,
      });
      const trouble = { exitCode: null, code: 'RUN_CRASHED', message: 'm', hint: null, times: 2, since: 1 };
      const take = async () => {
        const taken = await one.queue.take(9);
        for (const other of taken)
          if (other.job.pipeline !== 'crashing') await one.queue.giveBack(other, 0, undefined);
        return taken.find(({ job }) => job.pipeline === 'crashing')!;
      };
      try {
        await jobs(file);
        const first = await take();
        expect(await jobs(file)).toMatchObject([{ state: 'behind' }]);
        await one.queue.giveBack(first, 60_000, trouble);
        const second = await take();
        expect(second.job).toEqual({ ...first.job, trouble });
        await writeConfig('crashing', { failures: { tolerate: '7%' } });
        expect(await jobs(file)).toMatchObject([{ state: 'behind' }]);
        await one.queue.giveBack(second, 60_000, trouble);
        const third = await take();
        expect(third.job.trouble).toBeUndefined();
        const problem = { exitCode: 4, code: 'C', message: 'm', hint: null, run: null, at: 1, host: 'h' };
        await one.queue.bury(third, problem);
        // Its worker was silent, and another one has ended the job: what it reports afterwards changes nothing.
        await one.queue.bury(third, { ...problem, exitCode: 9 });
        await one.queue.giveBack(third, 0, undefined);
        const { deadLetters, waiting } = await fleet();
        expect(deadLetters).toMatchObject([{ pipeline: 'crashing', problem }]);
        expect(waiting).toMatchObject([{ pipeline: 'alpha' }]);
        const dismiss = async () => (await jobs('--dismiss', '-c', file, 'crashing')) as unknown;
        expect(await dismiss()).toMatchObject([{ state: 'removed', removed: ['dead letter'] }]);
        expect(await dismiss()).toMatchObject([{ state: 'removed', removed: [] }]);
      } finally {
        await one.close();
      }
    });

    it('leaves a job that a newer foliopipe has written to its workers', async () => {
      const file = await writeConfig('newer');
      await jobs(file);
      await database.query(
        `update foliopipe_jobs.job set data = jsonb_set(data, '{version}', '2') where singleton_key = 'newer'`,
      );
      const said: string[] = [];
      const logger = {
        ...silentLogger,
        warn: (_: object, message?: string) => void said.push(message ?? ''),
      };
      const one = await openFleet(new DatabaseAddress(database.url), {
        node: process.versions.node,
        logger,
      });
      try {
        const taken = await one.queue.take(2);
        expect(taken.map(({ job }) => job.pipeline)).not.toContain('newer');
        for (const other of taken) await one.queue.giveBack(other, 0, undefined);
        const stored = await database.query(
          `select data, start_after > now() + interval '30 seconds' as waits from foliopipe_jobs.job
           where singleton_key = 'newer' and state < 'active'`,
        );
        expect(stored).toMatchObject([{ data: { version: 2, pipeline: 'newer' }, waits: true }]);
        expect(said.join()).toMatch(/job of newer is of another version/);
      } finally {
        await one.close();
      }
      expect(await jobs('--remove', '-c', file, 'newer')).toMatchObject([{ removed: ['job'] }]);
    });

    it('goes on elsewhere when a worker is killed', async () => {
      const killed = await startWorker('first', {
        FOLIOPIPE_CRASH_AT: 'after-part-before-downloaded:2:pause',
      });
      await expect
        .poll(async () => (await fleet()).runs, { timeout: 20_000 })
        .toMatchObject([{ holder: { pid: expect.any(Number) } }]);
      const [run] = (await fleet()).runs as [FleetFacts['runs'][number]];
      expect(run).toMatchObject({ pipeline: 'alpha', isJob: true });
      expect(await jobs(join(await folder(), 'alpha', 'job.yaml'))).toMatchObject([{ state: 'behind' }]);
      await expect
        .poll(async () => (await readFile(`/proc/${run.holder!.pid}/stat`, 'utf8')).split(' ')[2], {
          timeout: 20_000,
        })
        .toBe('T');
      killed.kill('SIGKILL');
      process.kill(run.holder!.pid, 'SIGKILL');
      await killed.ended;
      await rm(join(await folder(), 'machine-first'), { recursive: true });
      // Half a minute later.
      await database.query("update foliopipe.leases set until = now() - interval '1 second'");
      await database.query("update foliopipe_jobs.job set heartbeat_on = now() - interval '1 hour'");
      const second = await startWorker('second');
      await second.waitFor('stderr', /alpha: done, exit 0/);
      // The one behind may have been begun already.
      const config = join(await folder(), 'alpha', 'job.yaml');
      expect(await jobs('--remove', '-c', config, 'alpha')).toMatchObject([{ state: 'removed' }]);
      expect(await isWhole('alpha')).toBe(true);
      // The same config by hand is the same run.
      const byHand = await callMain(['run', join(await folder(), 'alpha', 'job.yaml')], { env: env() });
      expect(byHand, byHand.stderr).toMatchObject({ code: 0 });
    }, 90_000);

    it('keeps what a person must decide, and does it when it is put back', async () => {
      const file = await writeConfig('beta');
      const source = join(await folder(), 'beta', 'source.csv');
      await rm(source);
      expect(await jobs(file)).toMatchObject([{ state: 'enqueued' }]);
      await expect
        .poll(async () => (await fleet()).deadLetters, { timeout: 20_000 })
        .toMatchObject([
          {
            pipeline: 'beta',
            from: { files: [file] },
            problem: { exitCode: 4, code: 'SOURCE_MISSING', hint: expect.stringContaining('source.path') },
          },
        ]);
      const shown = await callMain(['fleet', file], { env: env() });
      expect(shown.stdout).toMatch(/^1 run waits for a person\n {2}beta: exit 4.*\[SOURCE_MISSING\]/s);
      expect(shown.stdout).toMatch(/; if not: foliopipe enqueue --again -c \S+ beta$/m);
      await expect.poll(async () => (await fleet()).waiting, { timeout: 30_000 }).toEqual([]);
      await expect.poll(async () => (await fleet()).runs, { timeout: 30_000 }).toEqual([]);
      const [, address = ''] = await workers[1]!.waitFor('stderr', /metrics: (http:\S+)/);
      expect(await (await fetch(`${address}/healthz`)).json()).toEqual({ status: 'ok', runs: [] });
      const metrics = await readMetrics(await (await fetch(`${address}/metrics`)).text());
      expect(metrics).toMatchObject({
        fleet_dead_letters: 1,
        'worker_ended_runs{next=person}': 1,
      });
      await writeFile(source, sourceText(records));
      // What the config is can no longer be chosen; how it is run can.
      expectError(
        await callMain(['enqueue', '--again', '-c', file, '--set', 'chunks.maxRecords=3'], { env: env() }),
        2,
        /chunks\.maxRecords: this command reads only state and scratchDir \(--set\)/,
      );
      const again = ['--again', '--label', 'second try', '-c', file];
      expect(await jobs(...again)).toEqual([{ pipeline: 'beta', state: 'enqueued' }]);
      expect((await fleet()).deadLetters).toEqual([]);
      const byBeta =
        "select data->'flags' as flags from foliopipe_jobs.job where name = 'runs' and data->>'pipeline' = 'beta'";
      expect(await database.query(byBeta)).toContainEqual({ flags: { label: 'second try' } });
      await expect.poll(() => isWhole('beta'), { timeout: 20_000 }).toBe(true);
    }, 60_000);

    it('lets a worker end whose database gives no answer over an open connection', async () => {
      const network = await openSilentNetwork(database);
      const worker = await startWorker('cut-off', {
        FOLIOPIPE_STATE: network.database.url,
        FOLIOPIPE_LEASE_MS: '3000',
      });
      network.lose();
      await worker.waitFor('stderr', /no sign of life: .* gives no answer/);
      worker.kill('SIGTERM');
      expect(await worker.ended).toMatchObject({ code: 0 });
      await network.close();
    }, 80_000);

    it('has a worker wait that begins while the database takes no changes', async () => {
      const standby = await server.createDatabase();
      const name = new URL(standby.url).pathname.slice(1);
      await database.query(`alter database "${name}" set default_transaction_read_only = on`);
      const begin = async () => {
        const worker = spawnCli(['worker', '--json'], { env: { FOLIOPIPE_STATE: standby.url } });
        workers.push(worker);
        await worker.waitFor('stderr', /takes no changes: it is read-only; the worker waits for it/);
        return worker;
      };
      const stopped = await begin();
      stopped.kill('SIGTERM');
      const ended = await stopped.ended;
      expect(ended).toMatchObject({ code: 0 });
      expect(jsonLines(ended.stdout).at(-1)).toMatchObject({ type: 'summary', exitCode: 0 });
      const waiting = await begin();
      await database.query(`alter database "${name}" reset default_transaction_read_only`);
      await waiting.waitFor('stderr', /up to 1 run at once/);
      waiting.kill('SIGTERM');
      expect(await waiting.ended).toMatchObject({ code: 0 });
    }, 80_000);

    it('is watched from before its first job, and while the database is away', async () => {
      const network = await openSilentNetwork(await server.createDatabase());
      const watch = spawnCli(['fleet', '--watch'], {
        env: { FOLIOPIPE_STATE: network.database.url, FOLIOPIPE_LEASE_MS: '3000' },
      });
      await watch.waitFor('stdout', /nothing here yet/);
      const file = await writeConfig('watched');
      const own = { ...env(), STATE_URL: network.database.url };
      expect(await callMain(['enqueue', file], { env: own })).toMatchObject({ code: 0 });
      await watch.waitFor('stdout', /1 job waits/);
      network.lose();
      await watch.waitFor('stderr', /gives no answer .*; fleet waits for it/);
      network.restore();
      expect(await callMain(['enqueue', '--remove', 'watched', '-c', file], { env: own })).toMatchObject({
        code: 0,
      });
      await watch.waitFor('stdout', /1 job waits[\s\S]*nothing here yet/);
      watch.kill('SIGINT');
      expect(await watch.ended).toMatchObject({ code: 0 });
      await network.close();
    }, 80_000);

    it('is not changed by a look: neither a database that takes no changes, nor older tables', async () => {
      const looked = await server.createDatabase();
      const own = { ...env(), STATE_URL: looked.url };
      const look = () => callMain(['fleet', '--set', `state=\${STATE_URL}`], { env: own });
      expect(await callMain(['enqueue', await writeConfig('looked')], { env: own })).toMatchObject({
        code: 0,
      });
      const name = new URL(looked.url).pathname.slice(1);
      await database.query(`alter database "${name}" set default_transaction_read_only = on`);
      const shown = await look();
      expect(shown, shown.stderr).toMatchObject({ code: 0, stdout: expect.stringMatching(/1 job waits/) });
      await database.query(`alter database "${name}" reset default_transaction_read_only`);

      await looked.query('update foliopipe_jobs.version set version = version - 1');
      const before = await looked.query('select * from foliopipe_jobs.version');
      expectError(
        await look(),
        2,
        /tables of the jobs .* are of an older foliopipe .*JOBS_OLDER.*foliopipe worker/s,
      );
      expect(await looked.query('select * from foliopipe_jobs.version')).toEqual(before);
    });

    it('is watched no longer than somebody reads it', async () => {
      const own = { ...env(), STATE_URL: (await server.createDatabase()).url };
      const watch = spawnCli(['fleet', '--watch'], { env: { FOLIOPIPE_STATE: own.STATE_URL } });
      await watch.waitFor('stdout', /nothing here yet/);
      watch.stopReading();
      expect(await callMain(['enqueue', await writeConfig('unread')], { env: own })).toMatchObject({
        code: 0,
      });
      expect(await watch.ended).toMatchObject({ code: 0 });
    }, 30_000);

    it('hands back its runs when a worker is drained', async () => {
      const slow = await openServe(join(await folder(), 'slow'), { segmentRecords: 7, recordsPerSecond: 15 });
      try {
        const service = { baseUrl: slow.url, token: `\${FOLIOPIPE_TOKEN}` };
        expect(await jobs(await writeConfig('gamma', { service }))).toMatchObject([{ state: 'enqueued' }]);
        const drained = workers[1]!;
        await drained.waitFor('stderr', /run \S+ of pipeline gamma begins/);
        drained.kill('SIGTERM');
        expect(await drained.ended).toMatchObject({
          code: 0,
          stderr: expect.stringMatching(/gamma: handed back/),
        });
        const { runs, waiting, workers: known } = await fleet();
        // The row of the killed one stays for a while.
        const left = known.filter(({ pid }) => pid === drained.pid);
        expect({ runs, left }).toEqual({ runs: [], left: [] });
        expect(waiting).toMatchObject([{ pipeline: 'gamma', trouble: null }]);
        expect(waiting[0]!.from).toBeLessThanOrEqual(Date.now());
        const third = await startWorker('third');
        await third.waitFor('stderr', /gamma: done, exit 0/);
        expect(await isWhole('gamma')).toBe(true);
        const { uploads } = JSON.parse(
          await readFile(join(await folder(), 'gamma', 'out/enriched.csv.manifest.json'), 'utf8'),
        ) as { uploads: object };
        expect(uploads).toMatchObject({ accepted: 6, ambiguous: 0, resubmitted: 0 });
      } finally {
        await slow.stop();
      }
    }, 60_000);
  });
}
