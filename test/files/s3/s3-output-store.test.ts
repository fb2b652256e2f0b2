import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { utimesSync, writeFileSync } from 'node:fs';
import { access, readFile, writeFile } from 'node:fs/promises';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Checkpoint } from '../../../src/checkpoint/checkpoint.js';
import type { OutputStore } from '../../../src/files/output-store.js';
import { connect } from '../../../src/files/s3/connect.js';
import { abortUpload } from '../../../src/files/s3/pending-uploads.js';
import { createS3OutputStore } from '../../../src/files/s3/s3-output-store.js';
import { partBytesFor, sendPart } from '../../../src/files/s3/upload-parts.js';
import { outputNames } from '../../../src/run/check/check-output.js';
import { useFolder } from '../../helpers/folders/folders.js';
import { createMemoryCheckpoint } from '../../helpers/memory/memory-checkpoint.js';
import { openS3Server, type S3Server, s3Options } from '../../helpers/s3/s3-server.js';
import { collect } from '../../helpers/streams/collect.js';

const PART = 100_000;
/** Eleven parts, none like another. */
const content = Array.from({ length: 60_000 }, (_, at) => `${at},"a value"\n`).join('');
const parts = Math.ceil(content.length / PART);
const sha256 = createHash('sha256').update(content).digest('hex');

const newFolder = useFolder();
let folder: string;
let server: S3Server;
let name: string;
let localFile: string;
/** What outlives a process: the checkpoint. */
let checkpoint: Checkpoint;

beforeEach(async () => {
  folder = await newFolder();
  server = await openS3Server();
  name = `s3://${server.bucket}/night/enriched.csv`;
  localFile = join(folder, 'work.partial');
  await writeFile(localFile, content);
  checkpoint = createMemoryCheckpoint();
});
afterEach(async () => {
  await server.close();
});

/** A process of its own, as far as the store knows. */
const store = (signal?: AbortSignal): OutputStore =>
  createS3OutputStore({ ...s3Options(server), ...(signal && { signal }) }, checkpoint, PART);
const asked = (what: string) => server.seen.filter((request) => request.what === what).length;
const errorOf = (work: Promise<unknown>) =>
  work.then(
    () => undefined,
    (error: unknown) => error,
  );

/** Puts the file, and is stopped when a number of parts is there. */
async function putUntil(stopAfter: number): Promise<void> {
  const controller = new AbortController();
  let seen = 0;
  server.before = ({ what }) => {
    if (what !== 'PUT part' || ++seen <= stopAfter) return undefined;
    controller.abort(new Error('stopped'));
    return new Promise(() => undefined);
  };
  await expect(store(controller.signal).put(localFile, name, 0o640)).rejects.toThrow('stopped');
  server.before = () => undefined;
  server.seen.length = 0;
}

describe('a large file', () => {
  it('is sent in parts, with its hash, and appears at the end only', async () => {
    server.before = async ({ what }) => {
      if (what === 'POST complete') expect(await server.keys()).toEqual([]);
      return undefined;
    };
    await store().put(localFile, name, 0o640);
    expect(asked('PUT part')).toBe(parts);
    const found = (await store().identity(name))!;
    expect(found.bytes).toBe(content.length);
    server.seen.length = 0;
    expect(await found.sha256()).toBe(sha256);
    expect(server.seen).toEqual([]);
    expect(await server.uploads()).toEqual({});
    await expect(access(localFile)).rejects.toThrow('ENOENT');
    expect(await checkpoint.outputUpload(name)).toBeUndefined();
  });

  it('goes on with the parts that are there after it was stopped', async () => {
    await putUntil(5);
    const there = (await server.uploads())['night/enriched.csv']!;
    expect(there).toBeGreaterThan(0);
    await store().put(localFile, name, 0o640);
    // A part that was on its way may have arrived since.
    expect(asked('PUT part')).toBeLessThanOrEqual(parts - there);
    expect(asked('POST begin')).toBe(0);
    expect(await (await store().identity(name))!.sha256()).toBe(sha256);
    expect(Buffer.from((await store().read(name, content.length))!).toString() === content).toBe(true);
  });

  it('takes no part that has its length and other content', async () => {
    await putUntil(5);
    const { uploadId } = JSON.parse((await checkpoint.outputUpload(name))!);
    const other = Buffer.from(content.slice(PART, 2 * PART));
    const md5 = createHash('md5').update(other).digest();
    await sendPart(connect(s3Options(server)), name, uploadId, 1, other, md5);
    await store().put(localFile, name, 0o640);
    expect(asked('POST begin')).toBe(0);
    expect(Buffer.from((await store().read(name, content.length))!).toString() === content).toBe(true);
  });

  it('is sent in whole if the store no longer knows the upload that has begun', async () => {
    await putUntil(5);
    const { uploadId } = JSON.parse((await checkpoint.outputUpload(name))!);
    await abortUpload(connect(s3Options(server)), name, uploadId);
    await store().put(localFile, name, 0o640);
    expect(asked('POST begin')).toBe(1);
    expect(await (await store().identity(name))!.sha256()).toBe(sha256);
  });

  it('of any size has at most as many parts as a store takes', () => {
    expect(partBytesFor(10_000 * PART, PART)).toBe(PART);
    const bytes = 10_000 * PART + 1;
    expect(Math.ceil(bytes / partBytesFor(bytes, PART))).toBeLessThanOrEqual(10_000);
  });

  it('is not sent before it is kept which upload has begun', async () => {
    const down = new Error('the database is down');
    const keeping = { ...checkpoint, recordOutputUpload: () => Promise.reject(down) };
    const put = createS3OutputStore(s3Options(server), keeping, PART).put(localFile, name, 0o640);
    await expect(put).rejects.toBe(down);
    expect(asked('POST begin')).toBe(1);
    expect(asked('PUT part')).toBe(0);
  });

  it('is sent no further once a part of it is refused', async () => {
    server.before = ({ what }) => (what === 'PUT part' ? { status: 403, code: 'AccessDenied' } : undefined);
    await expect(store().put(localFile, name, 0o640)).rejects.toMatchObject({ exitCode: 7 });
    expect(asked('PUT part')).toBeLessThanOrEqual(3);
  });

  it('with other content gives up the upload of the old one, and takes none of its parts', async () => {
    await putUntil(5);
    await writeFile(localFile, `${content}more\n`);
    await store().put(localFile, name, 0o640);
    expect(asked('DELETE upload')).toBe(1);
    expect(asked('PUT part')).toBe(Math.ceil((content.length + 5) / PART));
    expect(await server.uploads()).toEqual({});
    expect((await store().identity(name))!.bytes).toBe(content.length + 5);
  });

  it('gives up an upload whose id was lost, and none of another key', async () => {
    await putUntil(2);
    await checkpoint.recordOutputUpload(name, null);
    const other = join(folder, 'other.partial');
    await writeFile(other, content);
    await expect(
      (async () => {
        const controller = new AbortController();
        server.before = ({ what, key }) => {
          if (what === 'PUT part' && key === 'night/enriched.csv.delta.csv')
            controller.abort(new Error('stopped'));
          return undefined;
        };
        await store(controller.signal).put(other, `${name}.delta.csv`, 0o640);
      })(),
    ).rejects.toThrow('stopped');
    server.before = () => undefined;
    await store().put(localFile, name, 0o640);
    expect(Object.keys(await server.uploads())).toEqual(['night/enriched.csv.delta.csv']);
  });

  it('is sent again in whole where the store cannot list parts', async () => {
    await putUntil(5);
    server.before = ({ what }) =>
      what.startsWith('GET') ? { status: 501, code: 'NotImplemented' } : undefined;
    await store().put(localFile, name, 0o640);
    expect(asked('PUT part')).toBe(parts);
    expect((await store().identity(name))!.bytes).toBe(content.length);
    // The parts that were sent before cost money until they are given up.
    expect(await server.uploads()).toEqual({});
  });

  it('is sent where a list of parts does not go on', async () => {
    await putUntil(5);
    const body =
      '<ListPartsResult><IsTruncated>true</IsTruncated><NextPartNumberMarker>0</NextPartNumberMarker></ListPartsResult>';
    server.before = ({ what }) => (what === 'GET parts' ? { status: 200, code: '', body } : undefined);
    await store().put(localFile, name, 0o640);
    expect(asked('GET parts')).toBe(1);
    expect((await store().identity(name))!.bytes).toBe(content.length);
  });

  it('is not sent again if the reply to its last request was lost', async () => {
    let lost = false;
    const controller = new AbortController();
    server.before = async ({ what }) => {
      if (what === 'HEAD' && asked('POST complete') > 0 && !lost) {
        lost = true;
        controller.abort(new Error('killed'));
      }
      return undefined;
    };
    await expect(store(controller.signal).put(localFile, name, 0o640)).rejects.toThrow('killed');
    server.seen.length = 0;
    await store().put(localFile, name, 0o640);
    expect(server.seen.map(({ what }) => what)).toEqual(['HEAD', 'DELETE upload', 'HEAD', 'GET uploads']);
    await expect(access(localFile)).rejects.toThrow('ENOENT');
    expect(await checkpoint.outputUpload(name)).toBeUndefined();
  });

  it('leaves no upload where the reply to its beginning was lost', async () => {
    server.after = ({ what }) => what === 'POST begin' && asked('POST begin') === 1;
    await store().put(localFile, name, 0o640);
    expect(asked('POST begin')).toBe(2);
    expect(await server.uploads()).toEqual({});
  });

  it.each([
    ['lacks a part that it has taken', 'POST complete', { status: 400, code: 'InvalidPart' }],
    ['no longer knows the upload', 'PUT part', { status: 404, code: 'NoSuchUpload' }],
  ])('is passing trouble if the store %s', async (_, at, refusal) => {
    server.before = ({ what }) => (what === at ? refusal : undefined);
    expect(await errorOf(store().put(localFile, name, 0o640))).toMatchObject({
      code: 'OUTPUT_STORE_DOWN',
      exitCode: 5,
    });
    server.before = () => undefined;
    await store().put(localFile, name, 0o640);
    expect(await (await store().identity(name))!.sha256()).toBe(sha256);
  });

  it('is sent through 503s, and no longer than they last', async () => {
    // Each of these parts is refused once: the store here is asked twice at most.
    const refused = new Set(['2', '3', '5']);
    server.before = ({ what, query }) =>
      what === 'PUT part' && refused.delete(query.get('partNumber')!)
        ? { status: 503, code: 'SlowDown' }
        : undefined;
    await store().put(localFile, name, 0o640);
    expect(asked('PUT part')).toBe(parts + 3);
    expect(await (await store().identity(name))!.sha256()).toBe(sha256);
  });
});

describe('a small file', () => {
  it('gives up the upload of a large one that never ended', async () => {
    await putUntil(3);
    await writeFile(localFile, 'small\n');
    await store().put(localFile, name, 0o640);
    expect(await server.uploads()).toEqual({});
    expect(await checkpoint.outputUpload(name)).toBeUndefined();
  });

  it('does so where the store cannot list uploads, and where a list has no end', async () => {
    await putUntil(3);
    await writeFile(localFile, 'small\n');
    server.before = ({ what }) =>
      what === 'GET uploads' ? { status: 501, code: 'NotImplemented' } : undefined;
    await store().put(localFile, name, 0o640);
    expect(await server.uploads()).toEqual({});

    for (const marker of ['', '<NextKeyMarker>night</NextKeyMarker>']) {
      const body = `<ListMultipartUploadsResult><IsTruncated>true</IsTruncated>${marker}</ListMultipartUploadsResult>`;
      server.before = ({ what }) => (what === 'GET uploads' ? { status: 200, code: '', body } : undefined);
      await writeFile(localFile, `small again ${marker.length}\n`);
      await store().put(localFile, name, 0o640);
    }
    expect((await store().identity(name))!.bytes).toBe(15);
  });
});

describe('what is put there', () => {
  const small = 'id\n1\n';
  const isRefused = async () => {
    await expect(store().put(localFile, name, 0o640)).rejects.toMatchObject({
      code: 'OUTPUT_STORE_DOWN',
      message: `${name} is not what was sent there`,
    });
    await access(localFile);
  };

  it('is refused if somebody else has replaced it meanwhile', async () => {
    await writeFile(localFile, small);
    const other = join(folder, 'other.partial');
    await writeFile(other, 'id\n2\n');
    server.before = async ({ what }) => {
      if (what !== 'HEAD' || asked('PUT') === 0) return undefined;
      server.before = () => undefined;
      await createS3OutputStore(s3Options(server)).put(other, name, 0o640);
      return undefined;
    };
    await isRefused();
  });

  it('is refused if the local file was changed after it was hashed, also to the same length', async () => {
    await writeFile(localFile, small);
    server.before = ({ what }) => {
      if (what !== 'HEAD') return undefined;
      writeFileSync(localFile, 'id\n2\n');
      utimesSync(localFile, 1, 1);
      return undefined;
    };
    await isRefused();
  });
});

describe('the check before anything is paid', () => {
  const names = () => outputNames(name, folder);

  it('leaves nothing behind, also beside what is there', async () => {
    await store().put(localFile, name, 0o640);
    const before = (await store().identity(name))!.stamp;
    await store().prepare(names());
    expect(await server.keys()).toEqual(['night/enriched.csv']);
    expect(await server.uploads()).toEqual({});
    expect((await store().identity(name))!.stamp).toBe(before);
  });

  it.each([
    ['no such bucket', 'POST begin', { status: 404, code: 'NoSuchBucket' }, 'OUTPUT_BUCKET_MISSING', 2],
    ['a denied upload', 'POST begin', { status: 403, code: 'AccessDenied' }, 'OUTPUT_DENIED', 7],
    ['a denied removal', 'DELETE', { status: 403, code: 'AccessDenied' }, 'OUTPUT_DENIED', 7],
    ['a denied look', 'HEAD', { status: 403, code: 'AccessDenied' }, 'OUTPUT_DENIED', 7],
    ['an expired token', 'POST begin', { status: 400, code: 'ExpiredToken' }, 'OUTPUT_DENIED', 7],
    [
      'another region',
      'POST begin',
      { status: 400, code: 'AuthorizationHeaderMalformed' },
      'OUTPUT_BUCKET_ELSEWHERE',
      2,
    ],
    ['a look without a code', 'HEAD', { status: 400, code: 'ExpiredToken' }, 'OUTPUT_STORE_REFUSED', 2],
    ['a store that is down', 'POST begin', { status: 500, code: 'InternalError' }, 'OUTPUT_STORE_DOWN', 5],
    [
      'a request that it refuses',
      'POST begin',
      { status: 400, code: 'InvalidRequest' },
      'OUTPUT_STORE_REFUSED',
      2,
    ],
    [
      'a text in place of a code',
      'POST begin',
      { status: 400, code: '\u001b[31m' },
      'OUTPUT_STORE_REFUSED',
      2,
    ],
    [
      'a proxy that is down',
      'POST begin',
      { status: 502, code: '', body: '<html>Bad<br>Gateway' },
      'OUTPUT_STORE_DOWN',
      5,
    ],
    [
      'a page that is no XML',
      'POST begin',
      { status: 200, code: '', body: '<html>Welcome<br></html>' },
      'OUTPUT_STORE_REFUSED',
      2,
    ],
    ['an empty page', 'POST begin', { status: 200, code: '', body: '' }, 'OUTPUT_STORE_DOWN', 5],
  ])('finds %s', async (_, what, refusal, code, exitCode) => {
    server.before = (request) => (request.what === what ? refusal : undefined);
    const error = (await errorOf(store().checkWritable(names()))) as Error;
    expect(error).toMatchObject({ code, exitCode, hint: expect.any(String) });
    // biome-ignore lint/suspicious/noControlCharactersInRegex: that none is shown
    expect(error.message).not.toMatch(/[\u0000-\u001f]/);
    expect(error.message).toContain(name.slice(0, 20));
    expect(error.message).not.toContain('Unknown');
    expect(await server.uploads()).toEqual({});
  });

  it('finds that an upload may not be given up', async () => {
    server.before = ({ what }) =>
      what === 'DELETE upload' ? { status: 403, code: 'AccessDenied' } : undefined;
    expect(await errorOf(store().checkWritable(names()))).toMatchObject({ code: 'OUTPUT_DENIED' });
  });

  it('finds that nothing listens', async () => {
    await server.close();
    expect(await errorOf(store().checkWritable(names()))).toMatchObject({
      code: 'OUTPUT_STORE_DOWN',
      exitCode: 5,
    });
    server = await openS3Server();
  });

  it('finds that nothing answers', async () => {
    server.before = () => new Promise(() => undefined);
    const silent = createS3OutputStore({ ...s3Options(server), idleMs: 100, attempts: 1 });
    expect(await errorOf(silent.checkWritable(names()))).toMatchObject({
      code: 'OUTPUT_STORE_DOWN',
      exitCode: 5,
    });
  });

  it('finds a bucket that the real store does not have', async () => {
    const other = outputNames('s3://another-bucket/enriched.csv', folder);
    expect(await errorOf(store().checkWritable(other))).toMatchObject({ code: 'OUTPUT_BUCKET_MISSING' });
  });

  it('finds a key that is too long with what is added to it', async () => {
    const long = outputNames(`s3://${server.bucket}/${'k'.repeat(1012)}`, folder);
    expect(await errorOf(store().check(long, []))).toMatchObject({ code: 'OUTPUT_NAME_TOO_LONG' });
    expect(server.seen).toEqual([]);
  });
});

it('what comes too slowly is not waited for without end, and a store without ranges is not read to its end', async () => {
  let sent = 0;
  const slow = createServer(async (_request, response) => {
    response.writeHead(200, { 'content-length': 1_000_000 });
    for (sent = 0; sent < 1_000_000 && !response.destroyed; ) {
      const bytes = sent === 0 ? 1_000 : 1;
      response.write('x'.repeat(bytes));
      sent += bytes;
      await sleep(10);
    }
  });
  await new Promise<void>((done) => slow.listen(0, '127.0.0.1', done));
  const url = `http://127.0.0.1:${(slow.address() as AddressInfo).port}`;
  const slowStore = createS3OutputStore({ ...s3Options({ url }), idleMs: 300 });
  try {
    const all = (async () => {
      for await (const _ of slowStore.stream(name));
    })();
    expect(await errorOf(all)).toMatchObject({
      code: 'OUTPUT_STORE_DOWN',
      exitCode: 5,
      message: expect.stringContaining('REPLY_TOO_SLOW'),
    });
    expect(sent).toBeLessThan(2_000);
    expect(await errorOf(slowStore.read(name, 5_000))).toMatchObject({ code: 'OUTPUT_STORE_DOWN' });
    expect(Buffer.from((await slowStore.read(name, 10))!).toString()).toBe('x'.repeat(10));
  } finally {
    slow.closeAllConnections();
    slow.close();
  }
});

describe('a signal', () => {
  const small = () => writeFile(localFile, 'small\n');
  const put = (stuck: OutputStore) => stuck.put(localFile, name, 0o640);
  const putBefore = () => store().put(localFile, name, 0o640);

  it.each<[string, () => Promise<unknown>, (stuck: OutputStore) => Promise<unknown>]>([
    ['HEAD', small, put],
    ['PUT', small, put],
    ['POST begin', async () => undefined, put],
    ['PUT part', async () => undefined, put],
    ['POST complete', async () => undefined, put],
    ['GET uploads', small, put],
    ['GET parts', () => putUntil(5), put],
    ['DELETE upload', () => putUntil(5).then(small), put],
    ['GET', putBefore, (stuck) => stuck.read(name, 10)],
    ['GET', putBefore, (stuck) => collect(stuck.stream(name))],
    ['DELETE', putBefore, (stuck) => stuck.remove(name)],
  ])('ends a request that is not answered: %s', async (kind, prepare, work) => {
    await prepare();
    const controller = new AbortController();
    server.before = ({ what }) => {
      if (what !== kind) return undefined;
      controller.abort(new Error('stopped'));
      return new Promise(() => undefined);
    };
    const options = { ...s3Options(server), idleMs: 600_000, signal: controller.signal };
    await expect(work(createS3OutputStore(options, checkpoint, PART))).rejects.toThrow('stopped');
  });
});

describe('a body', () => {
  /** Reads an object of a store that answers like this. */
  const withAnswer = async (
    answer: (response: ServerResponse) => void,
    read: (pieces: AsyncIterable<Uint8Array>) => Promise<void>,
  ) => {
    const answering = createServer((_request, response) => answer(response));
    await new Promise<void>((done) => answering.listen(0, '127.0.0.1', done));
    const url = `http://127.0.0.1:${(answering.address() as AddressInfo).port}`;
    try {
      await read(createS3OutputStore({ ...s3Options({ url }), idleMs: 600_000 }).stream(name));
    } finally {
      answering.closeAllConnections();
      answering.close();
    }
  };
  const isTrouble = async (pieces: AsyncIterable<Uint8Array>) => {
    expect(await errorOf(collect(pieces))).toMatchObject({ code: 'OUTPUT_STORE_DOWN', exitCode: 5 });
  };

  it('that is cut off is passing trouble', () =>
    withAnswer(
      (response) =>
        response.writeHead(200, { 'content-length': '1000' }).write('0123456789', () => response.destroy()),
      isTrouble,
    ));

  it('without a length may be cut off', () =>
    withAnswer((response) => {
      response.useChunkedEncodingByDefault = false;
      response.writeHead(200, { connection: 'close' }).end('0123456789');
    }, isTrouble));

  it('that is not read to its end is not received any longer', async () => {
    let closed: Promise<unknown> | undefined;
    await withAnswer(
      (response) => {
        closed = once(response, 'close');
        response.writeHead(200).write('0123456789');
      },
      async (pieces) => {
        for await (const piece of pieces) {
          expect(piece).toHaveLength(10);
          break;
        }
        await closed;
      },
    );
  });
});

it('what others have put there is known by its content', async () => {
  await store().put(localFile, name, 0o640);
  const { S3Client, PutObjectCommand } = await import('@aws-sdk/client-s3');
  const client = new S3Client({
    endpoint: server.url,
    forcePathStyle: true,
    requestChecksumCalculation: 'WHEN_REQUIRED',
  });
  const Body = content.replace('a value', 'A value');
  await client.send(new PutObjectCommand({ Bucket: server.bucket, Key: 'night/enriched.csv', Body }));
  const found = (await store().identity(name))!;
  expect(found.bytes).toBe(content.length);
  expect(await found.sha256()).toBe(createHash('sha256').update(Body).digest('hex'));
});

it('what may not be read is not taken for missing', async () => {
  await store().put(localFile, name, 0o640);
  server.before = ({ what }) => (what === 'GET' ? { status: 403, code: 'AccessDenied' } : undefined);
  const refused = { code: 'OUTPUT_DENIED' };
  await expect(collect(store().stream!(name))).rejects.toMatchObject(refused);
  await expect(store().read(name, 9)).rejects.toMatchObject(refused);
  server.before = () => undefined;
  await store().remove(name);
  await expect(collect(store().stream!(name))).rejects.toMatchObject({ code: 'ENOENT' });
  expect(await store().read(name, 9)).toBeUndefined();
});

it('removes nothing where nothing is', async () => {
  await store().remove(name);
  expect(server.seen.map(({ what }) => what)).toEqual(['HEAD']);
});

it('an empty file has its first bytes too', async () => {
  await writeFile(localFile, '');
  await store().put(localFile, name, 0o640);
  // As AWS answers: s3rver does not answer at all.
  server.before = ({ what }) => (what === 'GET' ? { status: 416, code: 'InvalidRange' } : undefined);
  expect(await store().read(name, 10)).toEqual(new Uint8Array());
  expect(await readFile(localFile).catch(() => 'gone')).toBe('gone');
});
