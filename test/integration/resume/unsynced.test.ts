/**
 * A power failure takes what was not synced. At each failpoint, what the next start relies on is on the disk: rules
 * "Intent first", "What was bought is kept" and "A file appears whole" (docs/architecture.md#a-file-appears-whole).
 */
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import type { Failpoint } from '../../../src/failpoints.js';
import { useSharedFolder } from '../../helpers/folders/folders.js';
import { createJob, type Job } from '../../helpers/jobs/cli-job.js';
import { useServe } from '../../helpers/service/serve.js';

const program = join(import.meta.dirname, '../../helpers/processes/unsynced-program.mjs');
const library = pathToFileURL(join(import.meta.dirname, '../../../dist/bundle/index.js')).href;
const folder = useSharedFolder();
const serve = useServe();

const settings = {
  source: { key: ['BusinessName'], maxRejected: 1 },
  reuse: { maxAge: '90d', maxMiss: '100%' },
};

/** What no next start relies on, or what SQLite syncs by itself. */
const UNNEEDED = [
  /checkpoint\.db/,
  / state\/locks\//,
  /foliopipe-lock/,
  // Its hash is checked before it is sent.
  /\/chunk-\d+\.csv$/,
  /\/reserve$/,
  /\.tmp$/,
  // Of a file that is in its place now.
  /^removal .*\.partial$/,
  // Of the publication before.
  /^removal .*\.rows$/,
];
/** Of these lines the database knows the change. The next start adds them where they are missing. */
const LATER_LINES = /^bytes(?! .*\b(?:intent|accepted) ).* \S+\/paid\.log$/;
const PAID: readonly Failpoint[] = [
  'after-intent-before-post',
  'after-slot-before-post',
  'after-post-before-commit',
  'after-accepted-before-poll',
];
/** The work file is opened meanwhile, and has no rows yet. */
const BEFORE_ROWS: readonly Failpoint[] = [...PAID, 'after-part-file-before-commit'];
const WORK_FILE = /\.partial$/;
/** Named by a later sync, before anything relies on them. */
const NAMED_LATER: Readonly<Partial<Record<Failpoint, RegExp>>> = {
  'after-part-of-folder-before-next': /^name .*\/part-\d+\.csv$/,
};

/** What a power failure would take that matters, at each failpoint that a night passes, and before each rename. */
async function lostIn(job: Job, first: number): Promise<Map<string, Set<string>>> {
  const rows = Array.from({ length: 20 }, (_, at) => `Shop ${first + at},${at} Main St,MT,`);
  await writeFile(job.source, `BusinessName,Address,State,Note\n${rows.join('\n')}\nno,record\n`);
  const args = [program, library, job.config, job.folder];
  const { stdout } = await promisify(execFile)(process.execPath, args, {
    env: { ...process.env, ...job.env },
  });
  const found = new Map<string, Set<string>>();
  for (const line of stdout.trim().split('\n')) {
    const { point, lost } = JSON.parse(line) as { point: Failpoint; lost: string[] };
    const matters = (one: string) =>
      !UNNEEDED.some((pattern) => pattern.test(one)) &&
      !LATER_LINES.test(one) &&
      (!BEFORE_ROWS.includes(point) || !WORK_FILE.test(one)) &&
      NAMED_LATER[point]?.test(one) !== true;
    const all = String(point) === UNSYNCED_RENAME ? lost : lost.filter(matters);
    found.set(point, new Set([...(found.get(point) ?? []), ...all]));
  }
  return found;
}

const UNSYNCED_RENAME = 'rename of what is not synced';

/** Each kind of output passes these, and those of its own. Before the output is renamed, the markers of the last one are gone for certain. */
const passed: readonly Failpoint[] = [
  'after-choice-before-run',
  ...PAID,
  'after-part-file-before-commit',
  'after-work-write-before-commit',
  'after-delta-before-publishing',
  'after-publishing-before-rename',
  'after-rename-before-manifest',
  'after-manifest-before-marker',
  'after-marker-before-done',
  'after-base-before-done',
];

describe('a power failure takes nothing that matters', () => {
  it.each<[string, object, readonly string[]]>([
    ['a file', { path: 'out/enriched.csv' }, ['rename out/enriched.csv']],
    [
      'a compressed file',
      { path: 'out/enriched.csv.gz' },
      ['after-encoded-before-publishing', 'rename out/enriched.csv.gz'],
    ],
    [
      'a folder of parts',
      { path: 'out/', maxFileBytes: '1KB' },
      ['after-part-of-folder-before-next', 'after-parts-before-removal', 'rename out/_LATEST.json'],
    ],
    ['a folder', { path: 'out/' }, ['rename out/_LATEST.json', 'after-latest-before-sweep']],
  ])('where the output is %s', async (kind, output, own) => {
    const all = { ...settings, output: { ...output, delta: true } };
    // A single chunk: no other one is written meanwhile.
    const job = await createJob(join(await folder(), kind), {
      baseUrl: serve.url,
      chunk: 100,
      settings: all,
    });
    for (const first of [0, 10]) {
      const found = await lostIn(job, first);
      expect([...(found.get(UNSYNCED_RENAME) ?? [])]).toEqual([]);
      for (const point of [...passed, ...own]) expect([...found.get(point)!], point).toEqual([]);
    }
  });
});
