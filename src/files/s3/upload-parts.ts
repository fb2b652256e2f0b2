/**
 * Uploads a large local file in parts. The id of the upload is kept before the first part is sent: after a kill, the
 * upload of the same content goes on with the parts that the store has. Once the content has its name, all uploads that
 * are left under it are aborted, because a store charges for their parts until then.
 */
import { createHash } from 'node:crypto';
import { type FileHandle, open } from 'node:fs/promises';
import type { CompletedPart } from '@aws-sdk/client-s3';
import type { HashedFile } from '../../streams/file-identity.js';
import { mapConcurrent } from '../../streams/map-concurrent.js';
import type { S3Connection } from './connect.js';
import { abortUpload, beginUpload, partsOf, type UploadedPart } from './pending-uploads.js';
import { isMissing } from './translate-error.js';

/** A store takes at most this many parts. */
const MAX_PARTS = 10_000;

/** How many parts are in memory and in flight at once. */
const AT_ONCE = 3;

/** An upload that has begun, as it is kept. */
interface BegunUpload extends HashedFile {
  readonly name: string;
  readonly uploadId: string;
  readonly partBytes: number;
}

/** Bytes of each part except the last one. */
export function partBytesFor(bytes: number, least: number): number {
  return Math.max(least, Math.ceil(bytes / MAX_PARTS));
}

/** Keeps uploads that have begun, by name. The checkpoint implements it, so that they survive a kill. */
export interface BegunUploads {
  outputUpload(name: string): Promise<string | undefined>;
  /** @param upload null to forget it. */
  recordOutputUpload(name: string, upload: string | null): Promise<void>;
}

/**
 * @param content the length and hash of the file; the store keeps the hash with the object.
 * @param partBytes of each part, as `partBytesFor` says.
 */
export async function uploadParts(
  store: S3Connection,
  begunUploads: BegunUploads,
  localFile: string,
  name: string,
  content: HashedFile,
  partBytes: number,
): Promise<void> {
  const wanted = { name, ...content, partBytes };
  const begun = await findBegun(begunUploads, wanted);
  const there = begun === undefined ? undefined : await partsOf(store, name, begun.uploadId);
  const upload =
    there === undefined || begun === undefined ? await begin(store, begunUploads, wanted) : begun;
  const parts = await sendParts(store, localFile, upload, there ?? new Map());
  await complete(store, upload, parts);
}

/** Gives up the upload that is kept for a name; none is kept afterwards. Not every store lists uploads. */
export async function giveUpUpload(
  store: S3Connection,
  begunUploads: BegunUploads,
  name: string,
): Promise<void> {
  const kept = await begunUploads.outputUpload(name);
  if (kept === undefined) return;
  await abortUpload(store, name, (JSON.parse(kept) as BegunUpload).uploadId);
  await begunUploads.recordOutputUpload(name, null);
}

async function findBegun(
  begunUploads: BegunUploads,
  wanted: Omit<BegunUpload, 'uploadId'>,
): Promise<BegunUpload | undefined> {
  const kept = await begunUploads.outputUpload(wanted.name);
  if (kept === undefined) return undefined;
  const found = JSON.parse(kept) as BegunUpload;
  const keys = ['name', 'bytes', 'sha256', 'partBytes'] as const;
  return keys.every((key) => found[key] === wanted[key]) ? found : undefined;
}

/** Begins an upload in place of the one that is kept, and keeps its id durably before anything is sent. */
async function begin(
  store: S3Connection,
  begunUploads: BegunUploads,
  wanted: Omit<BegunUpload, 'uploadId'>,
): Promise<BegunUpload> {
  await giveUpUpload(store, begunUploads, wanted.name);
  const uploadId = await beginUpload(store, wanted.name, wanted.sha256);
  const upload = { ...wanted, uploadId };
  await begunUploads.recordOutputUpload(wanted.name, JSON.stringify(upload));
  return upload;
}

/** Sends the parts that the store lacks. @returns all parts in their order. */
async function sendParts(
  store: S3Connection,
  localFile: string,
  { name, uploadId, bytes, partBytes }: BegunUpload,
  there: ReadonlyMap<number, UploadedPart>,
): Promise<CompletedPart[]> {
  const file = await open(localFile);
  const spare: Buffer[] = [];
  const send = async (number: number): Promise<CompletedPart> => {
    const buffer = spare.pop() ?? Buffer.allocUnsafeSlow(Math.min(partBytes, bytes));
    const piece = await readPart(file, buffer, (number - 1) * partBytes, bytes);
    const md5 = createHash('md5').update(piece).digest();
    const known = there.get(number);
    // The tag of a part is its MD5, unless the store encrypts with keys of the user: then the part is sent again.
    const isThere = known?.bytes === piece.length && known.etag.replaceAll('"', '') === md5.toString('hex');
    const ETag = isThere ? known.etag : await sendPart(store, name, uploadId, number, piece, md5);
    spare.push(buffer);
    return { ETag, PartNumber: number };
  };
  try {
    const parts: CompletedPart[] = [];
    const numbers = numbersTo(Math.ceil(bytes / partBytes));
    for await (const part of mapConcurrent(numbers, AT_ONCE, send)) parts[part.PartNumber! - 1] = part;
    return parts;
  } finally {
    await file.close();
  }
}

async function* numbersTo(last: number): AsyncGenerator<number> {
  for (let number = 1; number <= last; number++) yield number;
}

async function readPart(file: FileHandle, buffer: Buffer, from: number, bytes: number): Promise<Buffer> {
  const length = Math.min(buffer.length, bytes - from);
  let filled = 0;
  while (filled < length) {
    const { bytesRead } = await file.read(buffer, filled, length - filled, from + filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return buffer.subarray(0, filled);
}

/** Sends one part. @param md5 of its bytes, which the store checks. @returns the tag that the store gives it. */
export async function sendPart(
  store: S3Connection,
  name: string,
  uploadId: string,
  number: number,
  piece: Buffer,
  md5: Buffer,
): Promise<string> {
  const { ETag } = await store.ask(
    name,
    's3:PutObject',
    (client, { UploadPartCommand }, { object, options }) =>
      client.send(
        new UploadPartCommand({
          ...object,
          UploadId: uploadId,
          PartNumber: number,
          Body: piece,
          ContentLength: piece.length,
          ContentMD5: md5.toString('base64'),
        }),
        options,
      ),
  );
  return ETag ?? `"${md5.toString('hex')}"`;
}

/** A request that was cut off may have completed the upload: the caller looks at the object in any case. */
async function complete(
  store: S3Connection,
  { name, uploadId }: BegunUpload,
  parts: CompletedPart[],
): Promise<void> {
  await store.ask<unknown>(
    name,
    's3:PutObject',
    (client, { CompleteMultipartUploadCommand }, { object, options }) =>
      client.send(
        new CompleteMultipartUploadCommand({
          ...object,
          UploadId: uploadId,
          MultipartUpload: { Parts: parts },
        }),
        options,
      ),
    (error) => (isMissing(error) ? { result: undefined } : undefined),
  );
}
