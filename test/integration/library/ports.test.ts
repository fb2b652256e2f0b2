/** A run with all ports given by the caller does the whole job through them and closes none of them. */
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { enrich, enrichedRecords, openRun } from '../../../pipelines/index.js';
import {
  ConfigError,
  DamagedPartError,
  type FileStore,
  LockedError,
  parseConfig,
} from '../../../src/index.js';
import { silentLogger } from '../../../src/logger.js';
import { createPermits } from '../../../src/streams/permits.js';
import { createFakeApi } from '../../fake-service/fake-api.js';
import { useFolder } from '../../helpers/folders/folders.js';
import { throwAt } from '../../helpers/jobs/throw-at.js';
import { createMemoryCheckpoint } from '../../helpers/memory/memory-checkpoint.js';
import { createMemoryFiles } from '../../helpers/memory/memory-files.js';
import { createMemoryLock } from '../../helpers/memory/memory-lock.js';
import { createMemoryOutputStore } from '../../helpers/memory/memory-output-store.js';
import { numberedSource } from '../../helpers/stages/stage-run.js';
import { createVirtualClock } from '../../helpers/streams/virtual-clock.js';

const newFolder = useFolder();
let folder: string;
beforeEach(async () => {
  folder = await newFolder();
  await writeFile(join(folder, 'source.csv'), numberedSource(25));
});

const configIn = (name: string) =>
  parseConfig(
    {
      pipeline: 'nightly',
      source: { path: join(folder, 'source.csv') },
      upload: { columns: { name: 'name' }, keyColumn: 'id' },
      service: { baseUrl: 'https://service.test', token: 't0ken' },
      chunks: { maxRecords: 4 },
      output: { path: join(folder, name, 'out.csv') },
      stateDir: join(folder, name, 'state'),
    },
    folder,
  );

/** Every port in memory; `closed` lists the ports that were closed. */
function memoryPorts() {
  const closed: string[] = [];
  const counting = <T extends { close(): Promise<void> }>(name: string, port: T): T => ({
    ...port,
    close: async () => void closed.push(name),
  });
  const api = createFakeApi();
  return {
    closed,
    api,
    ports: {
      api: counting('api', api),
      checkpoint: counting('checkpoint', createMemoryCheckpoint()),
      lock: createMemoryLock(),
      files: createMemoryFiles(),
      output: createMemoryOutputStore(),
      clock: createVirtualClock(),
    },
  };
}

const names = (place: string) => readdir(join(folder, place)).catch(() => []);

it('writes the same output as with the default ports, and leaves nothing on the disk', async () => {
  const { ports } = memoryPorts();
  const config = configIn('memory');
  expect(await enrich(config, ports)).toMatchObject({ exitCode: 0, counts: { successful: 25 } });

  const local = configIn('local');
  await enrich(local, { api: createFakeApi(), clock: createVirtualClock() });
  const published = ports.output.contents.get(config.output.path)!.content;
  expect(published.toString()).toBe(await readFile(local.output.path, 'utf8'));
  const suffixes = [...ports.output.contents.keys()].map((name) => name.slice(config.output.path.length));
  expect(suffixes.sort()).toEqual(['', '._SUCCESS', '.manifest.json']);
  expect(await names('memory')).toEqual([]);
});

it('goes on through the same ports after an interruption, without an upload more', async () => {
  const { ports, api } = memoryPorts();
  const config = configIn('memory');
  const at = throwAt('after-merged-before-next');
  await expect(enrich(config, { ...ports, at })).rejects.toThrow('killed');
  expect(await enrich(config, ports)).toMatchObject({ exitCode: 0, found: 'continued' });
  expect(api.asked.filter((asked) => asked.startsWith('upload'))).toHaveLength(7);
});

it('pays for no file twice whose client would obey the signal in the middle of it', async () => {
  const { ports, api } = memoryPorts();
  const { upload } = ports.api;
  const stop = new AbortController();
  // As a client does that gives the signal to `fetch`.
  ports.api.upload = async (request, signal) => {
    const receipt = await upload(request, signal);
    stop.abort();
    signal.throwIfAborted();
    return receipt;
  };
  const stopped = enrich(configIn('memory'), { ...ports, signal: stop.signal });
  await expect(stopped).rejects.toMatchObject({ code: 'INTERRUPTED' });
  ports.api.upload = upload;
  expect(await enrich(configIn('memory'), ports)).toMatchObject({ exitCode: 0, counts: { successful: 25 } });
  expect(api.folios.size).toBe(7);
});

it('publishes once more from what was bought where the store has lost the output', async () => {
  const { ports, api } = memoryPorts();
  const config = configIn('memory');
  await enrich(config, ports);
  const before = ports.output.contents.get(config.output.path)!.content;
  ports.output.contents.delete(config.output.path);
  const asked = api.asked.length;
  expect(await enrich(config, ports)).toMatchObject({ found: 'done', publication: 2 });
  expect(ports.output.contents.get(config.output.path)!.content.equals(before)).toBe(true);
  expect(api.asked).toHaveLength(asked);
});

it('fetches a part again that the files call damaged, with the error that the library exports', async () => {
  const { ports, api } = memoryPorts();
  let damages = 1;
  const files: FileStore = {
    ...ports.files,
    ofRun: async (run) => {
      const found = await ports.files.ofRun(run);
      return {
        ...found,
        readPart: async function* (chunk, part) {
          if (damages > 0) {
            damages -= 1;
            throw new DamagedPartError(chunk, part, new Error('the bucket has lost it'));
          }
          yield* found.readPart(chunk, part);
        },
      };
    },
  };
  expect(await enrich(configIn('memory'), { ...ports, files })).toMatchObject({ exitCode: 0 });
  const downloads = api.asked.filter((asked) => asked.startsWith('download'));
  expect(downloads.length - new Set(downloads).size).toBe(1);
});

it('lets Node warn of nothing, though many folios are open at once', async () => {
  const warnings: string[] = [];
  const listen = ({ name }: Error) => void warnings.push(name);
  process.on('warning', listen);
  try {
    const { chunks, ...rest } = configIn('memory');
    await enrich({ ...rest, chunks: { ...chunks, maxRecords: 1 } }, memoryPorts().ports);
    // Node emits a warning in the next tick.
    await new Promise(setImmediate);
  } finally {
    process.off('warning', listen);
  }
  expect(warnings).toEqual([]);
});

it('shares the limit on open folios with another run', async () => {
  const folios = createPermits(1);
  const open = new Set<string>();
  let most = 0;
  const limits = {
    folios: {
      ...folios,
      acquire: async (holder: string, signal: AbortSignal) => {
        const isHeld = await folios.acquire(holder, signal);
        open.add(holder);
        most = Math.max(most, open.size);
        return isHeld;
      },
      release: (holder: string) => {
        open.delete(holder);
        folios.release(holder);
      },
    },
  };
  const jobs = ['one', 'two'].map((name) =>
    enrich({ ...configIn(name), pipeline: name }, { ...memoryPorts().ports, limits }),
  );
  for (const { exitCode, counts } of await Promise.all(jobs)) {
    expect([exitCode, counts.successful]).toEqual([0, 25]);
  }
  expect([most, open.size]).toEqual([1, 0]);
});

it('closes no port that was handed in, and gives the lock back', async () => {
  const { ports, closed } = memoryPorts();
  await enrich(configIn('memory'), ports);
  expect(closed).toEqual([]);
  const holder = { pid: 1, command: 'test', since: 0 };
  await (await ports.lock.take('nightly', holder)).close();
});

it('takes the lock before it reads the checkpoint', async () => {
  const { ports } = memoryPorts();
  await ports.lock.take('nightly', { pid: 7, command: 'another', since: 0 });
  const checkpoint = new Proxy(ports.checkpoint, {
    get: () => {
      throw new Error('the checkpoint was asked');
    },
  });
  await expect(enrich(configIn('memory'), { ...ports, checkpoint })).rejects.toMatchObject({
    code: 'PIPELINE_LOCKED',
  });
});

it('says that somebody has removed the rows of its run, which is no bug', async () => {
  const { ports } = memoryPorts();
  const { checkpoint } = ports;
  let isGone = false;
  const emptied = {
    ...checkpoint,
    run: async (id: string) => (isGone ? undefined : checkpoint.run(id)),
  };
  const at = (point: string) => {
    if (point === 'after-part-before-downloaded') isGone = true;
  };
  const warnings: string[] = [];
  const logger = { ...silentLogger, warn: (_: object, text: string) => void warnings.push(text) };
  const config = configIn('memory');
  const report = { ...config.report, html: join(folder, 'report.html') };
  const ended = enrich({ ...config, report }, { ...ports, checkpoint: emptied, at, logger });
  await expect(ended).rejects.toMatchObject({ code: 'RUN_GONE', exitCode: 2 });
  expect(warnings).toEqual([]);
});

describe('a process that wakes up after its lease has passed', () => {
  /** @param fails what the next process has changed, as this process finds it. */
  const wakingPorts = () => {
    const { ports } = memoryPorts();
    let isHeld = true;
    const held = {
      isHeld: () => isHeld,
      expectHeld: async () => {
        if (!isHeld) throw new LockedError('LEASE_LOST', 'the lease is lost');
      },
      close: async () => undefined,
    };
    const wake = () => {
      isHeld = false;
      throw new ConfigError('DELTA_BASE_LOST', 'the next process has removed it');
    };
    return { ports: { ...ports, lock: { take: async () => held } }, wake };
  };

  it('says so to a program that takes rows', async () => {
    const { ports, wake } = wakingPorts();
    const nextChunk = async () => wake();
    const checkpoint = { ...ports.checkpoint, nextChunk };
    const run = await openRun(configIn('memory'), { ...ports, checkpoint });
    const rows = enrichedRecords(run);
    await expect(rows.next()).rejects.toMatchObject({ code: 'LEASE_LOST' });
    await run.close();
  });

  it('says so to a program that opens a run whose publication it finishes', async () => {
    const { ports, wake } = wakingPorts();
    const config = configIn('memory');
    const at = throwAt('after-publishing-before-rename');
    await expect(enrich(config, { ...ports, at })).rejects.toThrow('killed');
    const output = { ...ports.output, put: async () => wake() };
    await expect(openRun(config, { ...ports, output })).rejects.toMatchObject({ code: 'LEASE_LOST' });
  });
});
