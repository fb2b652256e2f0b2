/** A report replaces only an earlier report. */
import { execFileSync } from 'node:child_process';
import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { METRICS, PAGE, refuseForeignReport } from '../../src/files/report-place.js';
import { describeEnd } from '../../src/notify/run-end.js';
import { writeTextfile } from '../../src/notify/write-textfile.js';
import { createRunMeasure } from '../../src/report/measure-run.js';
import { useFolder } from '../helpers/folders/folders.js';

const folder = useFolder();

/** Puts something under a name; the paths of a file and of its folder. */
type Put = (path: string, root: string) => Promise<unknown> | unknown;
const others: Readonly<Record<string, Put>> = {
  'a source': (path) => writeFile(path, 'name,state\nA,CA\n'),
  'a page of somebody else': (path) => writeFile(path, '<!doctype html>\n<title>mine</title>'),
  'a folder': (path) => mkdir(path),
  'a FIFO': (path) => execFileSync('mkfifo', [path]),
  'a link': async (path, root) => {
    await writeFile(join(root, 'token'), 'secret');
    await symlink('token', path);
  },
};

it.each(Object.entries(others))('%s in place of a report is refused', async (_, put) => {
  const root = await folder();
  const path = join(root, 'report.html');
  await put(path, root);
  for (const kind of [PAGE, METRICS]) {
    await expect(refuseForeignReport(kind, path)).rejects.toMatchObject({
      code: 'REPORT_PLACE_TAKEN',
      exitCode: 2,
      facts: { key: kind.key, path },
    });
  }
});

const thisProcess = createRunMeasure().figures();

it('metrics replace metrics and nothing else', async () => {
  const path = join(await folder(), 'night.prom');
  const end = describeEnd(
    { pipeline: 'nightly' },
    { exitCode: 5, summary: null, thisProcess, began: 0, ended: 1 },
  );
  await writeTextfile(path, end, null);
  await writeTextfile(path, end, null);
  const text = 'somebody_elses_metric 1\n';
  await writeFile(path, text);
  await expect(writeTextfile(path, end, null)).rejects.toMatchObject({ code: 'REPORT_PLACE_TAKEN' });
  expect(await readFile(path, 'utf8')).toBe(text);
});
