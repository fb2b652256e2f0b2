/** examples/ for schedulers: their configs are read, and what they do at each exit code is what README.md says. */
import { execFile, execFileSync } from 'node:child_process';
import { chmod, cp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { CronJob } from 'kubernetes-models/batch/v1';
import { PersistentVolumeClaim } from 'kubernetes-models/v1';
import { beforeAll, describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { loadConfig } from '../src/config/load-config.js';
import { parseDuration } from '../src/quantities.js';
import { type Action, exitActions } from './helpers/examples/exit-codes.js';
import { useSharedFolder } from './helpers/folders/folders.js';

const root = resolve(import.meta.dirname, '..');
const read = (file: string) => readFile(join(root, 'examples', file), 'utf8');
const variables = ['FOLIOPIPE_TOKEN', 'FOLIOPIPE_WEBHOOK', 'STATE_DIRECTORY', 'CREDENTIALS_DIRECTORY'];

const newFolder = useSharedFolder();
let folder: string;
let retried: number[];
let failed: number[];
beforeAll(async () => {
  folder = await newFolder();
  const codes = [...(await exitActions())];
  const withAction = (wanted: Action) =>
    codes.filter(([, action]) => action === wanted).map(([code]) => code);
  [retried, failed] = [withAction('RETRY'), withAction('FAIL')];
  expect(retried.length + failed.length).toBe(13);
});

async function shutdownOf(name: string): Promise<number> {
  const file = join(folder, `${name}.yaml`);
  await cp(join(root, 'examples', name, 'foliopipe.yaml'), file);
  await writeFile(join(folder, 'token'), 't0ken');
  const env = {
    FOLIOPIPE_TOKEN: 't0ken',
    FOLIOPIPE_WEBHOOK: 'https://hooks.example.com/x',
    STATE_DIRECTORY: folder,
    CREDENTIALS_DIRECTORY: folder,
  };
  const config = await loadConfig({ files: [file], env, overrides: [], cwd: folder });
  expect(config.report.textfile ?? config.report.webhook).not.toBe(null);
  return config.timeouts.shutdown / 1000;
}

describe.each(['cron', 'systemd', 'kubernetes'])('examples/%s', (name) => {
  it('has a config without a secret, and docs/scheduling.md links to it', async () => {
    expect(await shutdownOf(name)).toBe(25);
    const named = [...(await read(`${name}/foliopipe.yaml`)).matchAll(/\$\{(\w+)/g)].map(([, one]) => one!);
    expect(named.filter((one) => !variables.includes(one))).toEqual([]);
    const page = await readFile(join(root, 'docs/scheduling.md'), 'utf8');
    expect(page).toContain(`(../examples/${name}/README.md)`);
  });

  it('has a README that says what was checked, and names each file and each exit code', async () => {
    const page = await read(`${name}/README.md`);
    expect(page.slice(page.indexOf('\n## What was checked\n'))).toContain('Not checked:');
    const files = [...page.matchAll(/^\| `([\w./-]+)` \|/gm)].map(([, path]) => path!);
    const there = await readdir(join(root, 'examples', name));
    expect([...files, 'README.md'].sort()).toEqual(there.sort());
    const [, table] = page.split('## What the exit codes become');
    const named = [...table!.matchAll(/^\| ([\d, ]+)/gm)].flatMap(([, codes]) =>
      codes!.match(/\d+/g)!.map(Number),
    );
    expect(named.sort((a, b) => a - b)).toEqual([0, ...retried, ...failed].sort((a, b) => a - b));
  });
});

describe('nightly.sh for cron', () => {
  /**
   * Runs the script with a stand-in for npx that ends with the codes, one after the other. While it works, another night
   * begins, which empties what was said.
   */
  async function night(...codes: number[]) {
    const script = join(folder, 'nightly.sh');
    await cp(join(root, 'examples/cron/nightly.sh'), script);
    await writeFile(
      join(folder, 'npx'),
      `#!/bin/sh
echo "$*" >> '${folder}/tries'
echo 'what was said before'
: > night.txt
echo 'what was said'
code=$(sed -n "$(wc -l < '${folder}/tries')p" '${folder}/codes')
exit "$code"
`,
    );
    await chmod(join(folder, 'npx'), 0o755);
    await rm(join(folder, 'tries'), { force: true });
    await writeFile(join(folder, 'codes'), `${codes.join('\n')}\n`);
    const env = { PATH: `${folder}:${process.env.PATH}`, PAUSES: '0 0 0 0' };
    return new Promise<{ code: number; mail: string; tries: string[] }>((end) => {
      execFile('/bin/sh', [script], { env }, async (error, stdout, stderr) => {
        const tries = (await readFile(join(folder, 'tries'), 'utf8')).trimEnd().split('\n');
        end({ code: error === null ? 0 : Number(error.code), mail: stdout + stderr, tries });
      });
    });
  }

  it('ends, tries again or mails by the exit code', async () => {
    const passing = retried.filter((code) => code < 128);
    expect(await night(...passing, 137, 0)).toMatchObject({ code: 0, mail: '', tries: { length: 5 } });
    for (const code of [130, 143])
      expect(await night(code)).toMatchObject({ code, mail: '', tries: { length: 1 } });
    for (const code of [...failed, 77]) {
      const { mail, ...end } = await night(code);
      expect(end).toMatchObject({ code, tries: { length: 1 } });
      expect(mail).toMatch(new RegExp(`^foliopipe ended with exit ${code}: .+\\n\\nwhat was said\\n`));
    }
  });

  it('mails when all tries are used up, and always types the same command', async () => {
    const { code, mail, tries } = await night(5, 5, 5, 5, 5, 0);
    expect({ code, tries: tries.length }).toEqual({ code: 5, tries: 5 });
    expect(mail).toMatch(/^foliopipe ended with exit 5: it did not pass, after all tries\n/);
    expect(new Set(tries).size).toBe(1);
    expect(tries[0]).toMatch(/^--no-install foliopipe run foliopipe\.yaml .*--wait-lock 30m/);
  });

  it('is started by lines that cron reads', async () => {
    const lines = (await read('cron/crontab'))
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'));
    const field = '(?:\\*|\\d+)';
    const schedule = new RegExp(
      `^(?:${Array(5).fill(field).join(' ')}|@reboot) +/srv/foliopipe/nightly\\.sh$`,
    );
    expect(lines.filter((line) => !/^[A-Z]+=/.test(line) && !schedule.test(line))).toEqual([]);
    expect(lines.filter((line) => schedule.test(line))).toHaveLength(2);
  });
});

describe('the units for systemd', () => {
  const settings = async (unit: string) =>
    Object.fromEntries(
      [...(await read(`systemd/${unit}`)).matchAll(/^(\w+)=(.*)$/gm)].map(([, key, value]) => [key!, value!]),
    );

  it('restart at the exit codes that pass, and give more time than uploads in flight need', async () => {
    const unit = await settings('foliopipe-nightly.service');
    expect(unit.RestartForceExitStatus!.split(' ').map(Number)).toEqual(retried);
    expect(unit.SuccessExitStatus).toBe('130 143');
    expect(parseDuration(unit.TimeoutStopSec!)! / 1000).toBeGreaterThan((await shutdownOf('systemd')) + 30);
    expect(unit.ExecStart).toContain('foliopipe run /etc/foliopipe/foliopipe.yaml');
  });

  const hasSystemd = (() => {
    try {
      execFileSync('systemd-analyze', ['--version'], { stdio: 'ignore' });
      return true;
    } catch {
      return false;
    }
  })();

  it.skipIf(!hasSystemd)('are verified by systemd-analyze', async () => {
    const units = join(folder, 'units');
    await cp(join(root, 'examples/systemd'), units, { recursive: true });
    const service = join(units, 'foliopipe-nightly.service');
    // The program must be there.
    const text = (await readFile(service, 'utf8')).replace(
      /^ExecStart=\S+/m,
      `ExecStart=${process.execPath}`,
    );
    await writeFile(service, text);
    const verify = () =>
      new Promise<string>((end) => {
        const args = [
          'verify',
          '--man=no',
          '--recursive-errors=no',
          service,
          join(units, 'foliopipe-nightly.timer'),
        ];
        execFile('systemd-analyze', args, (error, _, stderr) =>
          end(error === null ? stderr : `failed: ${stderr}`),
        );
      });
    expect(await verify()).toBe('');
    await writeFile(service, text.replace('Restart=on-abnormal', 'Restart=somehow'));
    expect(await verify()).toContain('service restart specifier');
  });
});

describe('cronjob.yaml for Kubernetes', () => {
  // biome-ignore lint/suspicious/noExplicitAny: any object of Kubernetes
  const objects = async (): Promise<any[]> =>
    parseAllDocuments(await read('kubernetes/cronjob.yaml')).map((document) => document.toJS());

  it('holds objects as the schemas of Kubernetes say', async () => {
    const [claim, job, ...others] = await objects();
    expect(others).toEqual([]);
    expect(new PersistentVolumeClaim(claim).validate()).toBe(undefined);
    expect(new CronJob(job).validate()).toBe(undefined);
    job.spec.jobTemplate.spec.template.spec.containers[0].volumeMounts[0].mountPth = '/data';
    job.spec.concurrencyPolicy = 7;
    expect(() => new CronJob(job).validate()).toThrow();
  });

  it('retries at the exit codes that pass, on a volume that stays, with time to stop', async () => {
    const [claim, { spec }] = await objects();
    const job = spec.jobTemplate.spec;
    const pod = job.template.spec;
    const [container] = pod.containers;
    expect(spec.concurrencyPolicy).toBe('Forbid');
    const [ignored, rule] = job.podFailurePolicy.rules;
    expect(ignored).toMatchObject({ action: 'Ignore', onPodConditions: [{ type: 'DisruptionTarget' }] });
    expect(rule).toMatchObject({
      action: 'FailJob',
      onExitCodes: { containerName: container.name, operator: 'NotIn' },
    });
    expect(rule.onExitCodes.values).toEqual([...retried, 137].sort((a, b) => a - b));
    expect(pod.restartPolicy).toBe('Never');
    expect(pod.terminationGracePeriodSeconds).toBeGreaterThan((await shutdownOf('kubernetes')) + 30);
    const limit = container.args[container.args.indexOf('--max-duration') + 1];
    expect(job.activeDeadlineSeconds).toBeGreaterThan(parseDuration(limit)! / 1000);
    expect(container.securityContext.readOnlyRootFilesystem).toBe(true);
    const written = pod.volumes.find(({ name }: { name: string }) => name === 'data');
    expect(written.persistentVolumeClaim.claimName).toBe(claim.metadata.name);
    const mounted = container.volumeMounts.find(({ name }: { name: string }) => name === 'data');
    const config = await read('kubernetes/foliopipe.yaml');
    expect(config).toContain(`stateDir: ${mounted.mountPath}/`);
  });
});
