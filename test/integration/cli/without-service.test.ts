/** Commands that need no service work without its address and without a token. */
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { useSharedFolder } from '../../helpers/folders/folders.js';
import { createJob, enrichJob, filesUnder, type Job } from '../../helpers/jobs/cli-job.js';
import { callMain } from '../../helpers/processes/call-main.js';
import { useServe } from '../../helpers/service/serve.js';

const folder = useSharedFolder();
/** Both are as they are in the first minutes: the variables of the config are not set. */
const unset = ['--set', `service.baseUrl=\${UNSET_URL}`, '--set', `service.token=\${UNSET_TOKEN}`];
const serve = useServe();
let job: Job;

beforeAll(async () => {
  job = await createJob(await folder(), { baseUrl: serve.url });
  await enrichJob(job);
  await serve.stop();
});
describe('without address and token', () => {
  it.each([
    [['plan'], 'has done this source already; foliopipe run -c '],
    [['status'], 'is done'],
    [['runs'], 'exit 0'],
    [['ledger'], '60 records in rehearsals'],
    [['runs', 'prune'], '0 runs removed'],
    [['load', '--print', 'duckdb', '--set', 'load={into: none, table: t, mode: append}'], null],
  ])('foliopipe %j works', async (words, told) => {
    const { code, stdout, stderr } = await callMain([...words, '-c', job.config, ...unset]);
    if (told === null) return expect(stderr).toContain('LOAD_NOT_LOADABLE');
    expect(code, stderr).toBe(0);
    expect(stdout).toContain(told);
  });

  it('foliopipe load refuses --json with --print, which prints a script', async () => {
    const { code, stdout } = await callMain(['load', '--print', 'duckdb', '--json', '-c', job.config]);
    expect(code).toBe(2);
    expect(JSON.parse(stdout)).toMatchObject({ type: 'summary', error: { code: 'USAGE' } });
  });

  it('the ledger fits 80 columns', async () => {
    const { stdout } = await callMain(['ledger', '-c', job.config, ...unset]);
    expect(stdout).toMatch(/ {2}rehearsal\n {2}\S+ \S+ {2,}1 {2,}1 .* \w{32}\n/);
    expect(stdout.split('\n').filter((line) => line.length > 80)).toEqual([]);
  });

  it('foliopipe publish writes a lost output again, and names what is missing where a part is lost', async () => {
    const before = await readFile(job.output, 'utf8');
    await rm(job.output);
    const published = await callMain(['publish', 'last', job.config, ...unset]);
    expect(published.code, published.stderr).toBe(0);
    expect(await readFile(job.output, 'utf8')).toBe(before);
    for (const file of await filesUnder(job.stateDir)) {
      if (/part/.test(file)) await rm(join(job.stateDir, file));
    }
    const { code, stderr } = await callMain(['publish', 'last', job.config, ...unset]);
    expect(stderr).toContain('service.token is missing, and the service must be asked [SERVICE_NOT_GIVEN]');
    expect(stderr).toContain('set FOLIOPIPE_TOKEN');
    expect(code).toBe(2);
  });

  it('foliopipe plan says that there is no address yet, before the first run', async () => {
    const args = ['plan', '-c', job.config, ...unset, '--state-dir', join(job.folder, 'none')];
    const { code, stdout } = await callMain(args);
    expect(stdout).toContain('service not given yet (service.baseUrl)');
    expect(stdout).toMatch(/record_id +name +address +state\n +1 +Harbor Hardware 1 +1 Main St +MT\n/);
    expect(code).toBe(0);
  });

  it('foliopipe check tells each of them, and checks all else', async () => {
    const { code, stdout } = await callMain(['check', '-c', job.config, ...unset]);
    expect(stdout).toMatch(/^FAIL {2}service: service\.baseUrl is missing\n {6}next: .*--base-url/m);
    expect(stdout).toMatch(
      /^FAIL {2}token: service\.token is missing\n {6}next: set FOLIOPIPE_TOKEN, or let service\.tokenFile name a file that is there;/m,
    );
    expect(stdout).toMatch(/^ok {4}source: /m);
    expect(code).toBe(2);
  });

  it('foliopipe run still needs both', async () => {
    const { code, stderr } = await callMain(['run', job.config, ...unset]);
    expect(stderr).toMatch(/service.baseUrl: the variable UNSET_URL is not set/);
    expect(code).toBe(2);
  });
});
