/** Uploads in parts that have begun and are not complete: begins them, lists them, and gives them up. */
import type {
  ListMultipartUploadsCommandInput,
  ListMultipartUploadsCommandOutput,
  ListPartsCommandOutput,
} from '@aws-sdk/client-s3';
import { parseS3 } from '../../config/sections/output-names.js';
import { TroubleError } from '../../errors.js';
import type { S3Connection } from './connect.js';
import { isMissing, isUnavailable } from './translate-error.js';

/** @param sha256 of the whole content, kept with the object. */
export async function beginUpload(store: S3Connection, name: string, sha256: string): Promise<string> {
  const { UploadId } = await store.ask(
    name,
    's3:PutObject',
    (client, { CreateMultipartUploadCommand }, { object, options }) =>
      client.send(new CreateMultipartUploadCommand({ ...object, Metadata: { sha256 } }), options),
  );
  if (UploadId !== undefined) return UploadId;
  throw new TroubleError('OUTPUT_STORE_DOWN', `${name}: what answers is no S3 store`, {
    hint: 'check output.s3.endpoint, then run the same command again: nothing is paid again',
    facts: { path: name },
  });
}

/** Gives up an upload, with its parts. One that is gone already is no error. */
export async function abortUpload(store: S3Connection, name: string, uploadId: string): Promise<void> {
  await store.ask<unknown>(
    name,
    's3:AbortMultipartUpload',
    (client, { AbortMultipartUploadCommand }, { object, options }) =>
      client.send(new AbortMultipartUploadCommand({ ...object, UploadId: uploadId }), options),
    (error) => (isMissing(error) ? { result: undefined } : undefined),
  );
}

/**
 * Gives up all uploads under a name. A store that cannot list uploads keeps them, until a rule of its own removes them.
 */
export async function abortListed(store: S3Connection, name: string): Promise<void> {
  const { key } = parseS3(name);
  for (let from: UploadMarker | undefined = {}; from !== undefined; ) {
    const page: ListMultipartUploadsCommandOutput | undefined = await listUploads(store, name, from);
    for (const { Key, UploadId } of page?.Uploads ?? []) {
      // The list has all keys that begin like this one.
      if (Key === key && UploadId !== undefined) await abortUpload(store, name, UploadId);
    }
    from = page?.IsTruncated ? nextMarker(page, from) : undefined;
  }
}

/** Undefined without a marker, or if it is the marker of the page before, after which the same page would follow. */
function nextMarker(
  { NextKeyMarker: KeyMarker, NextUploadIdMarker: UploadIdMarker }: ListMultipartUploadsCommandOutput,
  before: UploadMarker,
): UploadMarker | undefined {
  const isSame = KeyMarker === before.KeyMarker && UploadIdMarker === before.UploadIdMarker;
  return KeyMarker === undefined || isSame ? undefined : { KeyMarker, UploadIdMarker };
}

type UploadMarker = Pick<ListMultipartUploadsCommandInput, 'KeyMarker' | 'UploadIdMarker'>;

function listUploads(
  store: S3Connection,
  name: string,
  from: UploadMarker,
): Promise<ListMultipartUploadsCommandOutput | undefined> {
  return store.ask<ListMultipartUploadsCommandOutput | undefined>(
    name,
    's3:ListBucketMultipartUploads',
    (client, { ListMultipartUploadsCommand }, { object: { Bucket, Key }, options }) =>
      client.send(new ListMultipartUploadsCommand({ Bucket, Prefix: Key, ...from }), options),
    (error) => (isUnavailable(error) ? { result: undefined } : undefined),
  );
}

/** A part that a store has. */
export interface UploadedPart {
  readonly etag: string;
  readonly bytes: number;
}

/** The parts that the store has, by number; undefined if it does not know the upload, or cannot say. */
export async function partsOf(
  store: S3Connection,
  name: string,
  uploadId: string,
): Promise<ReadonlyMap<number, UploadedPart> | undefined> {
  const parts = new Map<number, UploadedPart>();
  for (let after: string | undefined = '0'; after !== undefined; ) {
    const marker: string = after;
    const page = await store.ask<ListPartsCommandOutput | undefined>(
      name,
      's3:ListMultipartUploadParts',
      (client, { ListPartsCommand }, { object, options }) =>
        client.send(
          new ListPartsCommand({ ...object, UploadId: uploadId, PartNumberMarker: marker }),
          options,
        ),
      (error) => (isMissing(error) || isUnavailable(error) ? { result: undefined } : undefined),
    );
    if (page === undefined) return undefined;
    for (const { PartNumber, ETag, Size } of page.Parts ?? []) {
      parts.set(PartNumber!, { etag: ETag ?? '', bytes: Size ?? -1 });
    }
    // After the same marker, the same page would follow.
    after = page.IsTruncated && page.NextPartNumberMarker !== marker ? page.NextPartNumberMarker : undefined;
  }
  return parts;
}
