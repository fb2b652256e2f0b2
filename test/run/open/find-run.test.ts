import { appendFile, mkdir, readFile, utimes, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ConfigError } from '../../../src/errors.js';
import { findRun } from '../../../src/run/open/find-run.js';
import type { RunOptions } from '../../../src/run/run-options.js';
import { workPath } from '../../../src/stages/publish/publish-output.js';
import { addChunk, advanceChunk, beginUpload, mergeChunk } from '../../helpers/checkpoint/advance-chunk.js';
import { allSuccessful, samplePublication } from '../../helpers/checkpoint/samples.js';
import { useFolder } from '../../helpers/folders/folders.js';
import { createStageRun, type StageRun, type StageRunOptions } from '../../helpers/stages/stage-run.js';

const folder = useFolder();
const service = 'https://service.test';

const find = (run: StageRun, options: RunOptions = {}, who = service) =>
  findRun({ ...run, files: run.fileStore, service: who }, options);

/** A run that a process before this one has begun, or ended. */
async function earlier(state: 'open' | 'done', options?: StageRunOptions): Promise<StageRun> {
  const run = await createStageRun(await folder(), options);
  if (state === 'done') {
    await run.checkpoint.recordPublishing(run.id, samplePublication);
    await run.checkpoint.recordDone(run.id, 5);
  }
  return run;
}

describe('an unfinished run', () => {
  it('is gone on with, loudly, and what was cut off while it was sent is ambiguous', async () => {
    const run = await earlier('open');
    await addChunk(run.checkpoint, run.id, 1, 'submitted');
    await addChunk(run.checkpoint, run.id, 2, 'cut');
    await beginUpload(run.checkpoint, run.id, 2);
    expect(await find(run)).toMatchObject({ found: 'continued', run: { id: run.id } });
    expect(await run.checkpoint.chunk(run.id, 2)).toMatchObject({ state: 'ambiguous' });
    expect(run.log[0]).toContain(`continuing run ${run.id}`);
    expect(run.log[1]).toMatch(/^warn 1 upload was cut off/);
  });

  it('stays as it is where its output cannot be prepared', async () => {
    const run = await earlier('open');
    await addChunk(run.checkpoint, run.id, 1, 'cut');
    await beginUpload(run.checkpoint, run.id, 1);
    const taken = new ConfigError('OUTPUT_TAKEN', 'another run writes it', { hint: 'wait' });
    const prepareOutput = () => Promise.reject(taken);
    await expect(find({ ...run, prepareOutput })).rejects.toBe(taken);
    expect(await run.checkpoint.chunk(run.id, 1)).toMatchObject({ state: 'uploading' });
  });

  it('keeps its rows, unless other columns are declared; once it is done, also then', async () => {
    const run = await earlier('open', { config: { result: { columns: ['code'] } } });
    await run.checkpoint.recordColumns(run.id, ['code'], false);
    const rows = async () => (await run.checkpoint.tally(run.id)).merged.records;
    await addChunk(run.checkpoint, run.id, 1, 'downloaded');
    await mergeChunk(run.checkpoint, run.id, 1, allSuccessful, 100);
    await find(run);
    expect(await rows()).toBe(10);
    const result = { ...run.config.result, columns: ['code', 'title'] };
    const other = { ...run, config: { ...run.config, result } };
    await find(other);
    expect(await rows()).toBe(0);
    await mergeChunk(run.checkpoint, run.id, 1, allSuccessful, 100);
    await run.checkpoint.recordPublishing(run.id, samplePublication);
    await run.checkpoint.recordDone(run.id, 5);
    expect(await find(other, { existing: run.id })).toMatchObject({ run: { state: 'done' } });
    expect(await rows()).toBe(10);
  });

  it('with the same content under another time is the same', async () => {
    const run = await earlier('open');
    await utimes(run.source.files[0]!.path, 1, 1);
    const { run: found } = await find(run);
    expect(found.id).toBe(run.id);
    expect(found.source.files[0]!.stamp).not.toBe(run.source.files[0]!.stamp);
  });

  it('with another source is named with both ways out', async () => {
    const run = await earlier('open');
    await appendFile(run.source.files[0]!.path, 'x,y\n');
    await expect(find(run)).rejects.toMatchObject({
      code: 'SOURCE_CHANGED',
      exitCode: 4,
      message: expect.stringContaining('6 records then, 7 now'),
      hint: expect.stringMatching(/put the old file back .* --new/),
    });
  });

  it('with another source of as many records is told by its content', async () => {
    const run = await earlier('open');
    const [file] = run.source.files;
    const text = await readFile(file!.path, 'utf8');
    await writeFile(file!.path, text.replace(/.\n$/, 'z\n'));
    await expect(find(run)).rejects.toMatchObject({
      code: 'SOURCE_CHANGED',
      message: expect.stringContaining('its source has other content now (6 records then and now)'),
    });
  });

  it('with another frozen value or service is named with the key', async () => {
    const run = await earlier('open');
    const config = { ...run.config, chunks: { ...run.config.chunks, maxRecords: 3 } };
    await expect(find({ ...run, config })).rejects.toMatchObject({
      code: 'CONFIG_FROZEN',
      exitCode: 2,
      message: expect.stringContaining('chunks.maxRecords'),
    });
    await expect(find(run, {}, 'https://other.test')).resolves.toMatchObject({ found: 'new' });
  });

  it('with another frozen value says that nothing was paid, or that a new run pays again', async () => {
    const run = await earlier('open');
    const config = { ...run.config, chunks: { ...run.config.chunks, maxRecords: 3 } };
    const hint = (text: string) => ({ code: 'CONFIG_FROZEN', hint: expect.stringContaining(text) as string });
    await expect(find({ ...run, config })).rejects.toMatchObject(hint('nothing was paid for in this run'));
    await addChunk(run.checkpoint, run.id, 1, 'submitted');
    await expect(find({ ...run, config })).rejects.toMatchObject(hint('--new, which pays again'));
  });

  it.each(['submitted', 'ambiguous'] as const)(
    'at another address is kept where a chunk is %s',
    async (state) => {
      const run = await earlier('open');
      await addChunk(run.checkpoint, run.id, 1, state);
      await expect(find(run, {}, 'https://other.test')).rejects.toMatchObject({
        code: 'CONFIG_FROZEN',
        facts: { keys: 'service' },
      });
      expect(await run.checkpoint.run(run.id)).toMatchObject({ state: 'open' });
    },
  );

  it('at another address gives way to a new run where nothing was paid', async () => {
    const run = await earlier('open');
    await addChunk(run.checkpoint, run.id, 1, 'cut');
    const { run: fresh, found } = await find(run, {}, 'https://other.test');
    expect(found).toBe('new');
    expect(fresh.service).toBe('https://other.test');
    expect(await run.checkpoint.run(run.id)).toMatchObject({ state: 'superseded' });
    expect(run.log.join('\n')).toContain(
      `info run ${run.id} began at another address of the service and has paid`,
    );
  });

  it('at another address is finished first where its output is being put in place', async () => {
    const run = await earlier('open');
    await run.checkpoint.recordPublishing(run.id, samplePublication);
    const found = { found: 'publishing', run: { id: run.id } };
    expect(await find(run, {}, 'https://other.test')).toMatchObject(found);
  });

  it('at another address stays where no new one takes its place', async () => {
    const run = await earlier('open');
    const elsewhere = (options: RunOptions) => find(run, options, 'https://other.test');
    await expect(elsewhere({ existing: true })).rejects.toMatchObject({ code: 'CONFIG_FROZEN' });
    await writeFile(run.source.files[0]!.path, 'name,address\nbad\n');
    await expect(elsewhere({ fresh: true })).rejects.toMatchObject({ exitCode: 4 });
    expect(await run.checkpoint.run(run.id)).toMatchObject({ state: 'open' });
  });

  it('is given up for a new one when that is asked for', async () => {
    const run = await earlier('open');
    await mkdir(dirname(workPath(run)), { recursive: true });
    await writeFile(workPath(run), 'half an output');
    const { run: fresh, found } = await find(run, { fresh: true });
    expect(found).toBe('new');
    expect(fresh.id).not.toBe(run.id);
    expect(await run.checkpoint.run(run.id)).toMatchObject({ state: 'superseded' });
    await expect(readFile(workPath(run))).rejects.toMatchObject({ code: 'ENOENT' });
  });

  it('stays when a new one cannot begin, because the new source is malformed', async () => {
    const run = await earlier('open');
    await writeFile(run.source.files[0]!.path, 'name,address\nbad\n');
    await expect(find(run, { fresh: true })).rejects.toMatchObject({ exitCode: 4 });
    expect(await run.checkpoint.run(run.id)).toMatchObject({ state: 'open' });
  });
});

describe('a run that is done', () => {
  it('of the same source costs nothing', async () => {
    const run = await earlier('done');
    expect(await find(run)).toMatchObject({ found: 'done', run: { id: run.id } });
  });

  it('stands for its source under the values that decide what is sent, the newest first', async () => {
    const run = await earlier('done');
    const chunks = { ...run.config, chunks: { ...run.config.chunks, maxRecords: 3 } };
    expect(await find({ ...run, config: chunks })).toMatchObject({ found: 'done', run: { id: run.id } });
    const keyless = { ...run.config, upload: { ...run.config.upload, keyColumn: null } };
    await expect(find({ ...run, config: keyless })).rejects.toMatchObject({
      code: 'RUN_DONE_OTHERWISE',
      exitCode: 2,
      message: expect.stringContaining('upload.keyColumn: "id" when it began, null now'),
      hint: expect.stringContaining('--new'),
    });
    const { run: second } = await find({ ...run, config: keyless }, { fresh: true });
    await run.checkpoint.recordPublishing(second.id, samplePublication);
    await run.checkpoint.recordDone(second.id, 6);
    expect((await find({ ...run, config: keyless })).run.id).toBe(second.id);
    expect((await find(run)).run.id).toBe(run.id);
  });

  it('stands for its source, whether equal records were sent once or each time, and with any key', async () => {
    const run = await earlier('done');
    const once = { ...run.config, upload: { ...run.config.upload, duplicates: 'once' as const } };
    const keyed = { ...once, source: { ...once.source, key: ['name'] } };
    expect(await find({ ...run, config: keyed })).toMatchObject({ found: 'done', run: { id: run.id } });
  });

  it('is published by name under another key, which is looked for in the header', async () => {
    const run = await earlier('done');
    const keyed = (key: string[]) => ({
      ...run,
      config: { ...run.config, source: { ...run.config.source, key } },
    });
    expect(await find(keyed(['name']), { existing: run.id })).toMatchObject({ found: 'continued' });
    await expect(find(keyed(['Name']), { existing: run.id })).rejects.toMatchObject({
      code: 'CONFIG_COLUMN_MISSING',
      message: expect.stringContaining('source.key: the source has no column "Name"; it has '),
      hint: expect.stringContaining('did you mean "name"?'),
    });
  });

  it.each<[string, 'source' | 'chunks' | 'upload', object]>([
    ['CONFIG_COLUMN_MISSING', 'source', { delimiter: ';' }],
    ['SOURCE_RECORD_TOO_LARGE', 'chunks', { maxBytes: 60 }],
    ['SOURCE_NOTHING_TO_SEND', 'upload', { columns: { address: 'address' } }],
  ])('has not checked its source for other settings: %s', async (code, section, values) => {
    const run = await earlier('done', { source: `name,address\n${'a'.repeat(60)},\n` });
    const config = { ...run.config, [section]: { ...run.config[section], ...values } };
    await expect(find({ ...run, config }, { fresh: true })).rejects.toMatchObject({ code });
  });

  it('stays known where the address of its service moves and the name stays', async () => {
    const run = await earlier('open');
    const at = (baseUrl: string) => {
      const service = { ...run.config.service, embedded: false as const, name: 'predictions', baseUrl };
      return { ...run, config: { ...run.config, service } as StageRun['config'] };
    };
    const old = at('https://service.test');
    const { run: begun } = await find(old, { fresh: true }, 'predictions');
    await addChunk(run.checkpoint, begun.id, 1, 'submitted');
    const moved = at('https://moved.test');
    await expect(find(moved, {}, 'predictions')).rejects.toMatchObject({
      code: 'CONFIG_FROZEN',
      facts: { keys: 'service.address' },
    });
    await run.checkpoint.recordPublishing(begun.id, samplePublication);
    await run.checkpoint.recordDone(begun.id, 5);
    expect(await find(moved, {}, 'predictions')).toMatchObject({ found: 'done', run: { id: begun.id } });
  });

  it('has the files that hold its content now', async () => {
    const run = await earlier('done');
    await utimes(run.source.files[0]!.path, 1, 1);
    const { run: found } = await find(run);
    expect(found.source.files[0]!.stamp).not.toBe(run.source.files[0]!.stamp);
    expect(await run.checkpoint.run(run.id)).toEqual(found);
  });

  it('is no answer for another source, another service, or when a new one is asked for', async () => {
    const run = await earlier('done');
    const baseUrl = 'https://other.test';
    const service = { ...run.config.service, baseUrl } as typeof run.config.service;
    const config = { ...run.config, service };
    expect(await find({ ...run, config }, {}, baseUrl)).toMatchObject({ found: 'new' });
    const again = await earlier('done');
    expect(await find(again, { fresh: true })).toMatchObject({ found: 'new' });
    const changed = await earlier('done');
    await appendFile(changed.source.files[0]!.path, 'x,y\n');
    expect(await find(changed)).toMatchObject({ found: 'new', run: { source: { records: 7 } } });
  });
});

describe('a disk that is too small', () => {
  /** The room for the replies of so many uploads is on no disk. */
  const tooBusy = ({ config, ...run }: StageRun): StageRun => {
    const concurrency = { ...config.concurrency, uploads: 1e12 };
    return { ...run, config: { ...config, concurrency } };
  };

  it('refuses a new run', async () => {
    const run = tooBusy(await earlier('done'));
    await expect(find(run, { fresh: true })).rejects.toMatchObject({ code: 'DISK_TOO_SMALL', exitCode: 5 });
    expect(await find(run, { fresh: true, yes: true })).toMatchObject({ found: 'new' });
  });

  it('refuses an unfinished run only while it has records to send, and a command that sends none never', async () => {
    const run = tooBusy(await earlier('open', { records: 20 }));
    const refused = { code: 'DISK_TOO_SMALL', exitCode: 5 };
    await addChunk(run.checkpoint, run.id, 1, 'submitted');
    await expect(find(run)).rejects.toMatchObject(refused);
    expect(await find(run, { yes: true })).toMatchObject({ found: 'continued' });
    expect(await find(run, { existing: true })).toMatchObject({ found: 'continued' });
    await addChunk(run.checkpoint, run.id, 2, 'cut');
    await expect(find(run)).rejects.toMatchObject(refused);
    await run.checkpoint.recordAllCut(run.id);
    await expect(find(run)).rejects.toMatchObject(refused);
    await advanceChunk(run.checkpoint, run.id, 2, 'submitted');
    expect(await find(run)).toMatchObject({ found: 'continued' });
  });
});

describe('an existing run', () => {
  it('is the unfinished one, or else the last', async () => {
    expect(await find(await earlier('open'), { existing: true })).toMatchObject({ found: 'continued' });
    expect(await find(await earlier('done'), { existing: true })).toMatchObject({ found: 'done' });
  });

  it('must have its results: that they were removed counts before other values of the config', async () => {
    const run = await earlier('done');
    await run.checkpoint.recordPruned(run.id, 6);
    const keyless = { ...run.config, upload: { ...run.config.upload, keyColumn: null } };
    await expect(find({ ...run, config: keyless }, { existing: run.id })).rejects.toMatchObject({
      code: 'RUN_PRUNED',
      exitCode: 9,
    });
  });

  it('must be there, of this pipeline, and not superseded', async () => {
    const run = await earlier('open');
    await expect(find(run, { existing: 'nobody' })).rejects.toMatchObject({
      code: 'RUN_UNKNOWN',
      exitCode: 2,
    });
    const other = { ...run, config: { ...run.config, pipeline: 'other' } };
    await expect(find(other, { existing: run.id })).rejects.toMatchObject({ code: 'RUN_UNKNOWN' });
    await expect(find(other, { existing: true })).rejects.toMatchObject({ code: 'RUN_UNKNOWN' });
    await run.checkpoint.recordSuperseded(run.id, 1);
    await expect(find(run, { existing: run.id })).rejects.toMatchObject({ code: 'RUN_UNKNOWN' });
  });
});

describe('a run of which the journal knows more than the checkpoint', () => {
  const behind = new ConfigError('CHECKPOINT_BEHIND', 'it has lost a row', { hint: 'foliopipe recover' });
  const loser = async (state: 'open' | 'done'): Promise<StageRun> => {
    const run = await earlier(state);
    return { ...run, checkpoint: { ...run.checkpoint, verifyPaid: () => Promise.reject(behind) } };
  };

  it('is refused before any work on it', async () => {
    const [open, done] = [await loser('open'), await loser('done')];
    await expect(find(open)).rejects.toBe(behind);
    await expect(find(open, { fresh: true })).rejects.toBe(behind);
    await expect(find(done)).rejects.toBe(behind);
    await expect(find(done, { existing: true })).rejects.toBe(behind);
    await expect(find(done, { existing: done.id })).rejects.toBe(behind);
  });

  it('is no reason to refuse a new run', async () => {
    expect(await find(await loser('done'), { fresh: true })).toMatchObject({ found: 'new' });
  });
});
