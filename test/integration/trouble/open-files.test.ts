/** Low limits of open files: the job works within them, or is refused before anything is sent. Never "a bug". */
import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { platform } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { openFakeService } from '../../fake-service/fake-service.js';
import { useSharedFolder } from '../../helpers/folders/folders.js';
import { createJob } from '../../helpers/jobs/cli-job.js';
import { callMain } from '../../helpers/processes/call-main.js';
import { jsonLines, nodeFlags } from '../../helpers/processes/cli.js';

const cli = fileURLToPath(new URL('../../../dist/bundle/cli.js', import.meta.url));
const folder = useSharedFolder();

interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

function runLimited(limit: number, args: readonly string[], env: Readonly<Record<string, string>>) {
  return new Promise<Ended>((resolve) => {
    const words = ['-c', `ulimit -n ${limit}; exec "$@"`, 'sh', process.execPath, ...nodeFlags, cli, ...args];
    const child = execFile('sh', words, { env: { PATH: process.env.PATH, ...env } }, (_, stdout, stderr) =>
      resolve({ code: child.exitCode, stdout, stderr }),
    );
  });
}

describe.skipIf(platform() !== 'linux')('a limit of open files', () => {
  it('64 is enough for a source of 700 files, two of them with bad records', async () => {
    const service = await openFakeService();
    const job = await createJob(await folder(), {
      pipeline: 'many',
      baseUrl: service.url,
      chunk: 300,
      settings: { source: { path: 'parts/*.csv', maxRejected: 2 }, concurrency: { folios: 8 } },
    });
    const env = { ...job.env, FOLIOPIPE_TOKEN: service.token };
    const parts = path.join(job.folder, 'parts');
    await mkdir(parts);
    for (let at = 0; at < 700; at++) {
      const row = at % 400 === 7 ? 'too,many,fields,in,it' : `Acme ${at},${at} Main St,MT,`;
      await writeFile(
        path.join(parts, `${at}.csv`),
        `BusinessName,Address,State,Note\n${row}\nB ${at},,MT,\n`,
      );
    }
    const end = await runLimited(64, ['run', job.config, '--json'], env);
    expect(end.code, end.stderr).toBe(0);
    expect(jsonLines(end.stdout).at(-1)).toMatchObject({ counts: { read: 1_400, rejected: 2 } });
    const check = await runLimited(64, ['check', job.config, '--json'], env);
    expect(check.code, check.stdout).toBe(0);
    await service.close();
  });

  it.each([26, 60])(
    '%i is refused before anything is sent, and the same command then works',
    async (limit) => {
      const service = await openFakeService();
      const job = await createJob(await folder(), { pipeline: `limit-${limit}`, baseUrl: service.url });
      const env = { ...job.env, FOLIOPIPE_TOKEN: service.token };
      const { code, stdout, stderr } = await runLimited(limit, ['run', job.config, '--json'], env);
      // Below about 58, the program itself may not be loaded whole: how much is at once, depends on Node and on chance.
      expect(stderr).toMatch(/\[(OPEN_FILES_LIMIT|TOO_MANY_FILES)\]\n {2}next: raise .+ulimit -n 1024/);
      expect([2, 5]).toContain(code);
      expect(jsonLines(stdout).at(-1)).toMatchObject({
        type: 'summary',
        exitCode: code,
        run: null,
        error: { code: expect.stringMatching(/FILES/), hint: expect.stringContaining('ulimit') },
      });
      if (limit === 60) expect(stderr).toContain('the limit of open files is 60, and this run needs up to');
      expect(service.seen).toHaveLength(0);
      expect(await callMain(['run', job.config], { env })).toMatchObject({ code: 0 });
      await service.close();
    },
  );
});
