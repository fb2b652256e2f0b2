/** Room on the disks before a run pays. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseConfig } from '../../../src/config/load-config.js';
import { silentLogger } from '../../../src/logger.js';
import { checkDisk, type Disk, roomNeeded, type StillToWrite } from '../../../src/run/check/check-disk.js';
import type { Source } from '../../../src/types.js';
import { sampleSource } from '../../helpers/checkpoint/samples.js';
import { minimalWith } from '../../helpers/config/minimal-config.js';
import { useFolder } from '../../helpers/folders/folders.js';

const folder = useFolder();
const options = { logger: silentLogger };
const MB = 1024 * 1024;

const configIn = (root: string, output: object = {}) =>
  parseConfig(minimalWith({ output: { path: 'out/o.csv', ...output }, stateDir: 'state' }), root);

/** A source of that many bytes and of 1,000 records. */
function writes(bytes: number, changes: Partial<StillToWrite> = {}, gzip = false): StillToWrite {
  const sample = sampleSource();
  const [file] = sample.files;
  const files = [{ ...file!, bytes, records: 1000, dialect: { ...file!.dialect, gzip } }];
  const columns = ['id', 'BusinessName', 'note', 'more'];
  const source: Source = { ...sample, columns, files, records: 1000, rejected: 0 };
  return { source, records: 1000, keepsAnswers: false, ...changes };
}

/** Disks by the last part of the folder's path. */
const disks = (of: Readonly<Record<string, Disk>>) => async (path: string) => of[path.split('/').at(-1)!];
const disk = (id: string, bytes: number, files = 1e6): Disk => ({ id, bytes, files });

describe('the disks of this machine', () => {
  it('have room for a small source, though the folders do not exist yet', async () => {
    await checkDisk(configIn(join(await folder(), 'not', 'there')), writes(1000), options);
  });

  it.each([
    ['more than they have', writes(1e18)],
    ['a quarter of it, zipped', writes(2.5e17, {}, true)],
  ])('have none for %s, and the error says it in figures', async (_, write) => {
    await expect(checkDisk(configIn(await folder()), write, options)).rejects.toMatchObject({
      code: 'DISK_TOO_SMALL',
      exitCode: 5,
      message: expect.stringMatching(/ has [\d.]+ .B free, and the run needs about [\d.,]+ .B there for /),
      hint: expect.stringContaining('foliopipe runs prune'),
    });
  });
});

describe('two disks', () => {
  const check = async (state: Disk, out: Disk) =>
    checkDisk(configIn(await folder()), writes(100 * MB), options, disks({ state, out }));

  it('are checked one by one', async () => {
    await check(disk('a', 32 * MB), disk('b', 101 * MB));
    await expect(check(disk('a', 32 * MB), disk('b', 99 * MB))).rejects.toMatchObject({
      message: expect.stringMatching(
        /the disk of .*\/out has 99 MB free, .* needs about 100\.\d+ MB there for its output$/,
      ),
      facts: { folder: expect.stringMatching(/out$/), free: 99 * MB },
      // The results of old runs are on the other disk.
      hint: expect.not.stringContaining('foliopipe runs prune'),
    });
    await expect(check(disk('a', 10 * MB), disk('b', 200 * MB))).rejects.toMatchObject({
      message: expect.stringMatching(/\/state has 10 MB free, .* for its state$/),
    });
  });

  it('that are one must have room for both', async () => {
    await check(disk('a', 133 * MB), disk('a', 133 * MB));
    await expect(check(disk('a', 130 * MB), disk('a', 130 * MB))).rejects.toMatchObject({
      message: expect.stringMatching(/has 130 MB free, .* for its output, and its state on the same disk$/),
    });
  });

  it('without room for more files are too small', async () => {
    await expect(check(disk('a', 1e12), disk('b', 1e12, 3))).rejects.toMatchObject({
      message: expect.stringMatching(/has 3 inodes free, and the run needs about 16 there/),
    });
  });

  it('of which the system tells nothing are no trouble', async () => {
    const config = configIn(await folder());
    await checkDisk(config, writes(1e18), options, async () => undefined);
  });
});

it('--yes only warns', async () => {
  const said: string[] = [];
  const logger = { ...silentLogger, warn: (_: object, text: string) => void said.push(text) };
  await checkDisk(configIn(await folder()), writes(1e18), { logger, yes: true });
  expect(said).toEqual([expect.stringMatching(/needs about .*; the run goes on anyway, because of --yes$/)]);
});

describe('what is to come', () => {
  const needed = async (write: StillToWrite, output: object = {}) => {
    const { state, published } = roomNeeded(configIn(await folder(), output), write);
    return { state: state.bytes, published: published.bytes };
  };

  /** The database, its log, and the room for the replies of four uploads, for a run of one chunk. */
  const database = 2 * 1024 + 64 * 1024 + 20 * 64 * 1024;

  it('is the source and its answers for the output, and less for the state', async () => {
    const { state, published } = await needed(writes(100_000));
    expect(published).toBe(160_000);
    // A record of 100 bytes in four columns, of which one is sent, with its number.
    expect(state).toBe(33_000 + (33_000 + 60_000) / 5 + database);
  });

  it('counts a sent column as long as it is, and so a published one', async () => {
    const { source } = writes(100_000);
    const long = writes(0, { source: { ...source, columnBytes: [2, 95, 2, 1] } });
    const { state, published } = await needed(long, { columns: ['id', 'note'] });
    expect(state).toBe(103_000 + (103_000 + 60_000) / 5 + database);
    expect(published).toBe(64_000);
  });

  it('grows with the number of chunks, and the log of the database does not', async () => {
    const chunks = (maxRecords: number) => {
      const config = parseConfig({ ...minimalWith({}), chunks: { maxRecords } }, '/base');
      return roomNeeded(config, writes(100_000)).state.bytes;
    };
    expect(chunks(1) - chunks(2)).toBeGreaterThan(500 * 2 * 1024 - 400_000);
    expect(chunks(1) - chunks(2)).toBeLessThan(500 * 2 * 1024);
  });

  it('is less for the room that a killed run has left, and none for a run that sends nothing', async () => {
    const reserve = join(await folder(), 'reserve');
    await writeFile(reserve, Buffer.alloc(20 * 64 * 1024));
    const { state } = await needed(writes(100_000));
    expect(state - (await needed(writes(100_000, { reserve }))).state).toBe(20 * 64 * 1024);
    expect((await needed(writes(100_000, { records: 0 }))).state).toBe(0);
  });

  it('counts a gzipped source as it is unzipped, however well it was zipped', async () => {
    const { source } = writes(1_000, {}, true);
    const files = source.files.map((file) => ({ ...file, unzippedBytes: 100_000 }));
    expect(await needed(writes(1_000, { source: { ...source, files } }))).toEqual(
      await needed(writes(100_000)),
    );
  });

  it('is less for what is answered and written already', async () => {
    const workFile = join(await folder(), 'work');
    await writeFile(workFile, Buffer.alloc(150_000));
    const { state, published } = await needed(writes(100_000, { records: 10, workFile }));
    expect(published).toBe(10_000);
    expect(state).toBe(330 + (330 + 600) / 5 + database);
  });

  it('is less where few columns are published, and more with lineage or stored answers', async () => {
    expect((await needed(writes(100_000), { columns: ['id'] })).published).toBe(85_000);
    expect((await needed(writes(100_000), { lineage: true })).published).toBe(270_000);
    expect((await needed(writes(100_000, { keepsAnswers: true }))).state).toBe(
      33_000 + (33_000 + 60_000) / 5 + 160_000 + database,
    );
  });

  it('is more for an output in another format, which is made from the rows, or in parts, which are copied', async () => {
    const published = async (output: object) => (await needed(writes(100_000), output)).published;
    expect(await published({ path: 'out/o.csv.gz' })).toBe(160_000 + 80_000);
    expect(await published({ path: 'out/' })).toBe(160_000);
    expect(await published({ path: 'out/', maxFileBytes: '160kB' })).toBe(160_000);
    expect(await published({ path: 'out/', maxFileBytes: '150kB' })).toBe(160_000 + 160_000);
  });

  it('is a quarter of the text, where it is not known how large a gzipped source is', async () => {
    expect(await needed(writes(25_000, {}, true))).toEqual(await needed(writes(100_000)));
  });

  it('is as large as its records, for a sample of a large source', async () => {
    const { source } = writes(1e12);
    // Each value is followed by a delimiter or the end of the line.
    const sample = { ...source, limit: 1000, columnBytes: [19, 49, 9, 19] };
    expect((await needed(writes(0, { source: sample }))).published).toBe(160_000);
  });

  it('holds the files of the chunks that may be open at once, and all where answers are stored', () => {
    const config = parseConfig(
      { ...minimalWith({}), chunks: { maxRecords: 10 }, concurrency: { folios: 2, uploads: 1 } },
      '/base',
    );
    const state = (write: StillToWrite) => roomNeeded(config, write).state.bytes;
    const rest = (33_000 + 60_000) / 5 + 100 * 2 * 1024 + 4 * 1024 * 1024 + 17 * 64 * 1024;
    expect(state(writes(100_000))).toBe(3 * 10 * 33 + rest);
    expect(state(writes(100_000, { keepsAnswers: true }))).toBe(33_000 + 160_000 + rest);
  });
});
