/**
 * The output store in S3, and in other stores with its interface. An object appears as a whole when its last request
 * ends. Each object has its SHA-256 as user metadata, so that it is recognized without being read.
 */
import { createHash } from 'node:crypto';
import { readFile, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { GetObjectCommandOutput } from '@aws-sdk/client-s3';
import { parseS3 } from '../../config/sections/output-names.js';
import { ConfigError, TroubleError } from '../../errors.js';
import { makeFolder } from '../../make-folder.js';
import { type HashedFile, hashFile, stampAt } from '../../streams/file-identity.js';
import { paced } from '../../streams/pace.js';
import { isFileMissing } from '../../streams/system-error.js';
import { hasContent, type OutputIdentity, type OutputNames, type OutputStore } from '../output-store.js';
import { connect, type S3Connection, type S3Options } from './connect.js';
import { abortListed, abortUpload, beginUpload } from './pending-uploads.js';
import { isMissing } from './translate-error.js';
import { type BegunUploads, giveUpUpload, partBytesFor, uploadParts } from './upload-parts.js';

const MB = 1024 * 1024;

/** A store takes keys of at most this many bytes. */
const MAX_KEY_BYTES = 1024;

/**
 * Names are addresses, `s3://bucket/key`. Permission bits are not used.
 * @param begunUploads keeps uploads in parts. By default in memory: then an upload begins again after a kill.
 * @param partBytes of each part of a large file; a smaller file is sent at once. At least 5 MB, as stores want it.
 */
export function createS3OutputStore(
  options: S3Options,
  begunUploads: BegunUploads = inMemory(),
  partBytes = 8 * MB,
): OutputStore {
  const store = connect(options);
  const identity = (name: string) => identify(store, name);
  const checkWritable = async (names: OutputNames) => {
    checkNames(names);
    await tryRights(store, names.output);
  };
  return {
    put: (localFile, name) => put(store, begunUploads, localFile, name, partBytes),
    identity,
    read: (name, bytes) => readStart(store, name, bytes),
    stream: (name) => readAll(store, name),
    remove: async (name) => {
      // In a bucket with versions, the removal of a missing object would leave a mark each night.
      if ((await identity(name)) !== undefined) await removeObject(store, name);
    },
    check: async (names) => checkNames(names),
    checkWritable,
    prepare: async (names) => {
      await checkWritable(names);
      for (const local of names.local) makeFolder(dirname(local), 0o700);
    },
  };
}

/** For a store that no run uses. */
function inMemory(): BegunUploads {
  const begun = new Map<string, string>();
  return {
    outputUpload: async (name) => begun.get(name),
    recordOutputUpload: async (name, upload) => {
      if (upload === null) begun.delete(name);
      else begun.set(name, upload);
    },
  };
}

async function put(
  store: S3Connection,
  begunUploads: BegunUploads,
  localFile: string,
  name: string,
  partBytes: number,
): Promise<string> {
  const before = stampAt(localFile);
  const content = await hashFile(localFile);
  if (content === undefined) throw missing(localFile);
  // A kill may have come when all was sent.
  const there = await identify(store, name);
  const isThere = there !== undefined && (await hasContent(there, content));
  const isSmall = content.bytes <= partBytes;
  if (isThere || isSmall) await giveUpUpload(store, begunUploads, name);
  if (!isThere && isSmall) await putAtOnce(store, localFile, name, content);
  if (!isThere && !isSmall) {
    const size = partBytesFor(content.bytes, partBytes);
    await uploadParts(store, begunUploads, localFile, name, content, size);
  }
  const placed = await identify(store, name);
  if (placed === undefined || !(await hasContent(placed, content)) || stampAt(localFile) !== before) {
    throw new TroubleError('OUTPUT_STORE_DOWN', `${name} is not what was sent there`, {
      hint: 'make sure that nothing else writes it, then run the same command again: nothing is paid again',
      facts: { path: name },
    });
  }
  // Gives up uploads of other contents, and uploads whose id was lost with a reply or in a kill.
  await abortListed(store, name);
  if ((await begunUploads.outputUpload(name)) !== undefined)
    await begunUploads.recordOutputUpload(name, null);
  await rm(localFile);
  return placed.stamp;
}

async function putAtOnce(
  store: S3Connection,
  localFile: string,
  name: string,
  { sha256 }: HashedFile,
): Promise<void> {
  const Body = await readFile(localFile);
  const ContentMD5 = createHash('md5').update(Body).digest('base64');
  await store.ask(name, 's3:PutObject', (client, { PutObjectCommand }, { object, options }) =>
    client.send(new PutObjectCommand({ ...object, Body, ContentMD5, Metadata: { sha256 } }), options),
  );
}

async function identify(store: S3Connection, name: string): Promise<OutputIdentity | undefined> {
  const head = await store.ask(
    name,
    's3:GetObject, s3:ListBucket',
    (client, { HeadObjectCommand }, { object, options }) =>
      client.send(new HeadObjectCommand(object), options),
    (error) => (isMissing(error) ? { result: undefined } : undefined),
  );
  if (head === undefined) return undefined;
  const { ETag = '', LastModified, VersionId = '', ContentLength = 0, Metadata } = head;
  return {
    bytes: ContentLength,
    stamp: [ETag, LastModified?.toISOString() ?? '', VersionId].join(' '),
    // An object that others have put there has no such hash, so it is read.
    sha256: async () => Metadata?.sha256 ?? hashObject(store, name),
  };
}

async function hashObject(store: S3Connection, name: string): Promise<string | undefined> {
  const hash = createHash('sha256');
  try {
    for await (const piece of readAll(store, name)) hash.update(piece);
  } catch (error) {
    if (isFileMissing(error)) return undefined;
    throw error;
  }
  return hash.digest('hex');
}

async function readStart(store: S3Connection, name: string, bytes: number): Promise<Uint8Array | undefined> {
  return store.ask(
    name,
    's3:GetObject',
    async (client, { GetObjectCommand }, { object, options }) => {
      const range = { Range: `bytes=0-${bytes - 1}` };
      const found = await client.send(new GetObjectCommand({ ...object, ...range }), options);
      const pieces: Uint8Array[] = [];
      let read = 0;
      // A store that does not know ranges sends all of it.
      for await (const piece of piecesOf(store, found)) {
        pieces.push(piece);
        read += piece.length;
        if (read >= bytes) break;
      }
      return Buffer.concat(pieces).subarray(0, bytes);
    },
    (error) => {
      if (isMissing(error)) return { result: undefined };
      // An empty object has no first byte.
      const isEmpty = error instanceof Error && error.name === 'InvalidRange';
      return isEmpty ? { result: new Uint8Array() } : undefined;
    },
  );
}

async function* readAll(store: S3Connection, name: string): AsyncGenerator<Uint8Array> {
  const found = await store.ask(
    name,
    's3:GetObject',
    (client, { GetObjectCommand }, { object, options }) => client.send(new GetObjectCommand(object), options),
    (error) => (isMissing(error) ? { result: undefined } : undefined),
  );
  if (found === undefined) throw missing(name);
  let read = 0;
  const pieces = piecesOf(store, found);
  try {
    for (;;) {
      const { value, done } = await store.ask(name, 's3:GetObject', () => pieces.next());
      if (done) break;
      read += value.length;
      yield value;
    }
  } finally {
    await pieces.return(undefined);
  }
  if (read === found.ContentLength) return;
  throw new TroubleError('OUTPUT_STORE_DOWN', `${name}: ${read} of ${found.ContentLength} bytes were read`, {
    hint: 'run the same command again',
    facts: { path: name },
  });
}

function piecesOf({ idleMs }: S3Connection, { Body }: GetObjectCommandOutput): AsyncGenerator<Uint8Array> {
  return paced(Body as AsyncIterable<Uint8Array>, idleMs, performance);
}

async function removeObject(store: S3Connection, name: string): Promise<void> {
  await store.ask(name, 's3:DeleteObject', (client, { DeleteObjectCommand }, { object, options }) =>
    client.send(new DeleteObjectCommand(object), options),
  );
}

function checkNames({ output, beside }: OutputNames): void {
  const longest = Math.max(...[output, ...beside].map((name) => Buffer.byteLength(parseS3(name).key)));
  if (longest <= MAX_KEY_BYTES) return;
  throw new ConfigError('OUTPUT_NAME_TOO_LONG', `S3 takes no key of ${longest} bytes: ${output}`, {
    hint: 'choose a shorter output.path: foliopipe adds up to 20 bytes to its key for the files beside it',
    facts: { path: output, bytes: longest },
  });
}

/**
 * Makes each kind of request that a publication makes, and leaves nothing: begins an upload and gives it up, and removes
 * an object that does not exist.
 */
async function tryRights(store: S3Connection, output: string): Promise<void> {
  const uploadId = await beginUpload(store, output, '');
  await abortUpload(store, output, uploadId);
  await identify(store, output);
  const nothing = `${output}.rights`;
  await store.ask<unknown>(
    nothing,
    's3:DeleteObject',
    (client, { DeleteObjectCommand }, { object, options }) =>
      // In a bucket with versions, the condition prevents the mark of a removal.
      client.send(new DeleteObjectCommand({ ...object, IfMatch: '"none"' }), options),
    (error) => (isMissing(error) || isConditionFailed(error) ? { result: undefined } : undefined),
  );
}

function isConditionFailed(error: unknown): boolean {
  const { name } = error as Error;
  return name === 'PreconditionFailed' || name === 'NotImplemented' || name === 'InvalidArgument';
}

function missing(path: string): Error {
  return Object.assign(new Error(`ENOENT: no such file, ${path}`), { code: 'ENOENT', path });
}
