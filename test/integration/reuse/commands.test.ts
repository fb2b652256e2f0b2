/** `foliopipe reuse`, and what becomes of stored answers when the checkpoint is lost. */
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { useSharedFolder } from '../../helpers/folders/folders.js';
import { sourceText } from '../../helpers/jobs/cli-job.js';
import { callMain } from '../../helpers/processes/call-main.js';
import { jsonLines } from '../../helpers/processes/cli.js';

const RECORDS = 60;
const folder = useSharedFolder();
let first: Job;

interface Job {
  readonly folder: string;
  readonly config: string;
  readonly output: string;
  readonly segments: string;
}

/** A job with the embedded service whose source has a key. */
async function newJob(name: string, settings: Readonly<Record<string, object>> = {}): Promise<Job> {
  const path = join(await folder(), name);
  await mkdir(path, { recursive: true });
  const [header, ...rows] = numbered(sourceText(RECORDS));
  await writeFile(join(path, 'source.csv'), [header, ...rows].join(''));
  const config = {
    pipeline: 'nightly',
    stateDir: 'state',
    source: { path: 'source.csv', key: ['Id'] },
    upload: { columns: { name: 'BusinessName', address: 'Address', state: 'State' } },
    service: { embedded: true, requestsPerSecond: 1000 },
    chunks: { maxRecords: 10 },
    poll: { first: '20ms', max: '100ms' },
    reuse: { maxAge: '90d', maxMiss: '100%' },
    failures: { tolerate: '100%' },
    output: { path: 'out.csv', lineage: true },
    ...settings,
  };
  await writeFile(join(path, 'job.yaml'), JSON.stringify(config));
  return {
    folder: path,
    config: join(path, 'job.yaml'),
    output: join(path, 'out.csv'),
    segments: join(path, 'state', 'reuse', 'segments'),
  };
}

/** The records with a number before each. */
function numbered(text: string): string[] {
  const records = text.match(/(?:"(?:[^"]|"")*"|[^"\n])*\n/g)!;
  return records.map((record, at) => `${at === 0 ? 'Id' : `K${at}`},${record}`);
}

async function command(...args: string[]) {
  const end = await callMain(args);
  expect(end.code, end.stderr).toBe(0);
  return end.stdout;
}

async function summaryOf(...args: string[]) {
  return jsonLines(await command(...args, '--json', '--log-level', 'silent')).at(-1) as Record<
    string,
    unknown
  >;
}

/** Runs the job, and gives the number of records that were sent. */
async function sentBy(job: Job): Promise<number> {
  const before = await paidIn(job);
  await command('run', job.config, '--new', '--log-level', 'silent');
  return (await paidIn(job)) - before;
}

async function paidIn(job: Job): Promise<number> {
  const end = await callMain(['ledger', job.config, '--json']);
  if (end.code !== 0) return 0;
  return jsonLines(end.stdout)
    .filter(({ type }) => type !== 'summary')
    .reduce((sum, { records }) => sum + Number(records), 0);
}

/** A job whose first run has bought every record. */
async function paidJob(name: string, settings: Readonly<Record<string, object>> = {}): Promise<Job> {
  const job = await newJob(name, settings);
  expect(await sentBy(job)).toBe(RECORDS);
  return job;
}

async function segmentFiles(job: Job): Promise<string[]> {
  return (await readdir(job.segments)).filter((name) => name.endsWith('.seg'));
}

/** The id of the run that has stored answers. */
async function onlyRun(job: Job): Promise<string> {
  const [{ run }] = jsonLines(await command('reuse', 'show', job.config, '--json')) as [{ run: string }];
  return run;
}

beforeAll(async () => {
  first = await paidJob('first');
});

describe('reuse import', () => {
  it('of our output: the next run sends nothing and writes the same bytes', async () => {
    const job = await newJob('imported');
    const imported = await summaryOf('reuse', 'import', first.output, job.config);
    expect(imported).toMatchObject({ read: RECORDS, paidFrom: 'manifest', replaced: false, blank: 0 });
    expect(await sentBy(job)).toBe(0);
    // Equal records take the answer of the first one.
    const lines = async ({ output }: Job) =>
      (await readFile(output, 'utf8')).split('\n').map((line) => line.replace(/(Twin.*0\.19),.*/, '$1'));
    expect(await lines(job)).toEqual(await lines(first));
  });

  it('of our output serves a config that sends one more column', async () => {
    const columns = { name: 'BusinessName', address: 'Address', state: 'State', number: 'Id' };
    const job = await newJob('wider', { upload: { columns } });
    await summaryOf('reuse', 'import', first.output, job.config);
    expect(await sentBy(job)).toBe(0);
  });

  it.each([
    ['parquet', 'PAR1\x15\x04'],
    ['csv.zst', '\x28\xb5\x2f\xfd'],
  ])('refuses an output that ends in .%s, and names what writes it as CSV', async (ending, begin) => {
    const job = await newJob(`import-${ending}`);
    const file = join(job.folder, `out.${ending}`);
    await writeFile(file, Buffer.from(`${begin} and so on`, 'latin1'));
    const refused = await callMain(['reuse', 'import', file, job.config]);
    expect(refused.code).toBe(4);
    expect(refused.stderr).toMatch(/SOURCE_NOT_CSV[\s\S]*foliopipe publish .*RUN --output FILE\.csv/);
    const missing = await callMain(['reuse', 'import', `${file}.gz`, job.config]);
    expect(missing.stderr).toMatch(/SOURCE_MISSING\]\n {2}next: check the path of the file with the answers/);
  });

  it('of the same file again replaces the first import', async () => {
    const job = await newJob('twice');
    const { run, successful } = await summaryOf('reuse', 'import', first.output, job.config);
    const again = await summaryOf('reuse', 'import', first.output, job.config, '--paid-at', '2026-01-02');
    expect(again).toMatchObject({ run, successful, replaced: true, paidFrom: 'given' });
    expect(await summaryOf('reuse', 'show', job.config)).toMatchObject({ all: { segments: 1, successful } });
    expect(await segmentFiles(job)).toHaveLength(1);
  });

  it('warns that rows without lineage which were reused themselves are older than the file', async () => {
    const old = await paidJob('without-lineage', { output: { path: 'out.csv' } });
    const job = await newJob('takes-old', { output: { path: 'out.csv' } });
    expect(await sentBy(old)).toBe(0);
    const warning =
      '60 rows of the file had reused answers, which are older: give the oldest day with --paid-at';
    expect(await command('reuse', 'import', old.output, job.config)).toContain(warning);
    const told = await command('reuse', 'import', old.output, job.config, '--paid-at', '2026-01-02');
    expect(told).not.toContain('had reused answers');
  });

  it('of any CSV: other columns, another dialect, rows without an answer', async () => {
    const [header, ...records] = numbered(sourceText(RECORDS));
    const value = (at: number) => (at < 40 ? `code-${at}` : '');
    const rows = records.map((record, at) => record.replace(/\n$/, `,${value(at)},x\n`));
    const text = [header!.replace('\n', ',my_code,other\n'), ...rows].join('');
    const settings = { result: { columns: ['prediction'] }, output: { path: 'out.csv' } };
    const job = await newJob('foreign', settings);
    const file = join(job.folder, 'old.csv');
    await writeFile(file, Buffer.from(`\u{feff}${text}`, 'utf16le'));
    const refused = await callMain(['reuse', 'import', file, job.config]);
    expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('IMPORT_COLUMN_MISSING') });
    const columns = ['--columns', 'prediction=my_code'];
    const imported = await summaryOf('reuse', 'import', file, job.config, ...columns);
    expect(imported).toMatchObject({ successful: 40, failed: 0, unanswered: 20, paidFrom: 'file' });
  });

  it('with wrong columns does not stop a run that buys: the service says which there are', async () => {
    const job = await newJob('wrong-columns');
    const [header, ...rows] = (await readFile(first.output, 'utf8')).split('\n');
    const file = join(job.folder, 'half.csv');
    await writeFile(file, `${[header, ...rows.slice(0, 30)].join('\n')}\n`);
    const columns = ['--columns', 'code=prediction_naics_code', '--columns', 'title=prediction_naics_title'];
    const text = await command('reuse', 'import', file, job.config, ...columns);
    expect(text).toContain('the names of these columns are not checked');
    const sent = await sentBy(job);
    expect(sent).toBeGreaterThan(0);
    expect(sent).toBeLessThan(RECORDS);
    const [names] = (await readFile(job.output, 'utf8')).split('\n');
    expect(names).toBe(header);
    expect(await summaryOf('reuse', 'import', first.output, job.config)).toMatchObject({ checked: true });
  });

  it('takes no UNPROCESSED and no refused rows, and failures with their reason', async () => {
    const job = await newJob('statuses');
    const status = 'prediction_status,prediction_error_code,prediction_error';
    const rows = [
      `BusinessName,Address,State,${status},prediction_naics_code,prediction_naics_title,prediction_confidence`,
      'A,1 St,MT,SUCCESSFUL,,,11,Crops,0.5',
      'B,1 St,MT,FAILED,SERVICE_FAILED,no such place,,,',
      'C,1 St,MT,FAILED,RECORD_REFUSED,too long,,,',
      'D,1 St,MT,UNPROCESSED,FOLIO_LOST,gone,,,',
      'E,1 St,MT,FAILED,SERVICE_FAILED,,,,',
      ',,,SUCCESSFUL,,,12,,',
    ];
    const file = join(job.folder, 'old.csv');
    await writeFile(file, `${rows.join('\n')}\n`);
    expect(await summaryOf('reuse', 'import', file, job.config)).toMatchObject({
      successful: 1,
      failed: 2,
      unanswered: 2,
      blank: 1,
      columns: ['naics_code', 'naics_title', 'confidence'],
    });
    const source = ['A', 'B', 'C', 'D', 'E'].map((name, at) => `${at},${name},1 St,MT,n\n`);
    await writeFile(join(job.folder, 'source.csv'), `Id,BusinessName,Address,State,Note\n${source.join('')}`);
    expect(await sentBy(job)).toBe(2);
    const lines = (await readFile(job.output, 'utf8')).split('\n');
    expect(lines[1]).toMatch(/^0,A,1 St,MT,n,SUCCESSFUL,,,11,Crops,0.5,/);
    expect(lines[2]).toMatch(/^1,B,1 St,MT,n,FAILED,SERVICE_FAILED,no such place,/);
  });

  it('refuses answers of a rehearsal for a real service', async () => {
    const job = await newJob('real', { service: { baseUrl: 'https://api.example.com', token: 't' } });
    const { code, stderr } = await callMain(['reuse', 'import', first.output, job.config]);
    expect({ code, stderr }).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('[IMPORT_REHEARSAL]'),
    });
  });
});

describe('reuse forget', () => {
  it('--key: exactly this record is bought again', async () => {
    const job = await paidJob('key');
    expect(await sentBy(job)).toBe(0);
    const forgotten = await summaryOf('reuse', 'forget', job.config, '--key', 'K7', '--key', 'K2');
    expect(forgotten).toMatchObject({ segments: [{ left: RECORDS - 2 }] });
    expect(await sentBy(job)).toBe(2);
    expect(await sentBy(job)).toBe(0);
  });

  it('--key of no record changes nothing', async () => {
    const { code, stderr } = await callMain(['reuse', 'forget', first.config, '--key', 'K7', '--key', 'no']);
    expect({ code, stderr }).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('[REUSE_KEY_UNKNOWN]'),
    });
    expect(await sentBy(first)).toBe(0);
  });

  it('--run: every answer of the run is bought again', async () => {
    const job = await paidJob('run');
    await command('reuse', 'forget', job.config, '--run', await onlyRun(job));
    expect(await command('reuse', 'show', job.config)).toMatch(/forgotten/);
    expect(await sentBy(job)).toBe(RECORDS);
    const again = await callMain(['reuse', 'forget', job.config, '--run', 'R-unknown']);
    expect(again.stderr).toContain('[REUSE_RUN_UNKNOWN]');
    await command('reuse', 'forget', job.config, '--run', 'last');
    expect(await sentBy(job)).toBe(RECORDS);
  });

  it('--older-than: keeps what is younger', async () => {
    const job = await paidJob('older');
    const none = await summaryOf('reuse', 'forget', job.config, '--older-than', '1d');
    expect(none).toMatchObject({ segments: [], successful: 0 });
    expect(await sentBy(job)).toBe(0);
    await summaryOf('reuse', 'forget', job.config, '--older-than', '1ms');
    expect(await sentBy(job)).toBe(RECORDS);
  });

  it('--run gives up a damaged import', async () => {
    const job = await newJob('damaged');
    const { run } = await summaryOf('reuse', 'import', first.output, job.config);
    const [name] = await segmentFiles(job);
    await writeFile(join(job.segments, name!), 'x');
    const broken = await callMain(['run', job.config, '--log-level', 'silent']);
    expect(broken.stderr).toContain(`foliopipe reuse forget -c ${job.config} --run ${run}`);
    await command('reuse', 'forget', job.config, '--run', String(run));
    expect(await sentBy(job)).toBe(RECORDS);
  });

  it('--all gives up answers whose secret is lost', async () => {
    const job = await newJob('secret');
    await summaryOf('reuse', 'import', first.output, job.config);
    await rm(join(job.segments, '..', 'secret'));
    const lost = await callMain(['run', job.config, '--log-level', 'silent']);
    expect(lost.stderr).toContain(`foliopipe reuse forget -c ${job.config} --all`);
    await command('reuse', 'forget', job.config, '--all');
    expect(await sentBy(job)).toBe(RECORDS);
  });

  it('needs one of its flags', async () => {
    const { code, stderr } = await callMain(['reuse', 'forget', first.config, '--all', '--run', 'x']);
    expect({ code, stderr }).toMatchObject({ code: 2, stderr: expect.stringContaining('[USAGE]') });
  });
});

describe('reuse prune', () => {
  it('is done after a run; a run that has its results is not put into a segment again', async () => {
    const job = await paidJob('prune-after', { reuse: { maxAge: '1ms', failedAge: '1ms', maxMiss: '100%' } });
    expect(await sentBy(job)).toBe(RECORDS);
    const segments = jsonLines(await command('reuse', 'show', job.config, '--json')).slice(0, -1);
    expect(segments).toHaveLength(2);
    expect(segments.filter(({ unused }) => unused === 'empty').length).toBeGreaterThan(0);
  });

  it('removes what is too old, and nothing else', async () => {
    const job = await newJob('prune');
    await summaryOf('reuse', 'import', first.output, job.config);
    expect(await summaryOf('reuse', 'prune', job.config)).toMatchObject({ runs: [] });
    const short = ['--set', 'reuse.maxAge=1ms', '--set', 'reuse.failedAge=1ms'];
    expect(await summaryOf('reuse', 'prune', job.config, ...short, '--dry-run')).toMatchObject({
      runs: [expect.stringMatching(/^import-/)],
    });
    expect(await segmentFiles(job)).toHaveLength(1);
    const off = await summaryOf('reuse', 'prune', job.config, '--set', 'reuse.maxAge=0');
    expect(off).toMatchObject({ runs: [] });
    await summaryOf('reuse', 'prune', job.config, ...short);
    expect(await segmentFiles(job)).toEqual([]);
    expect(await summaryOf('reuse', 'show', job.config)).toMatchObject({ all: { segments: 0 } });
  });
});

describe('a lost checkpoint', () => {
  it('is noticed although only stored answers are left, and recover brings them back', async () => {
    const job = await paidJob('lost');
    await rm(join(job.folder, 'state', 'checkpoint.db'));
    await command('recover', job.config);
    expect(await sentBy(job)).toBe(0);

    for (const name of ['checkpoint.db', 'runs']) {
      await rm(join(job.folder, 'state', name), { recursive: true });
    }
    const refused = await callMain(['run', job.config, '--log-level', 'silent']);
    expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('[CHECKPOINT_LOST]') });
    expect(await command('recover', job.config)).toMatch(/stored answers of 1 run rebuilt/);
    expect(await sentBy(job)).toBe(0);
  });

  it('gets the rows of imports back, without forgotten answers', async () => {
    const job = await newJob('lost-import');
    await summaryOf('reuse', 'import', first.output, job.config);
    await summaryOf('reuse', 'forget', job.config, '--key', 'K7');
    await rm(join(job.folder, 'state', 'checkpoint.db'));
    await command('recover', job.config);
    expect(await sentBy(job)).toBe(1);
  });

  it('names damaged files', async () => {
    const job = await paidJob('lost-damaged');
    const [name] = await segmentFiles(job);
    const path = join(job.segments, name!);
    const bytes = await readFile(path);
    bytes[20]! ^= 1;
    await writeFile(path, bytes);
    await rm(join(job.folder, 'state', 'checkpoint.db'));
    const { code, stdout } = await callMain(['recover', job.config]);
    expect(code).toBe(2);
    expect(stdout).toContain(`${path} is damaged`);
  });
});
