/** POST of a file (interface, 4.1). Replies with a folio only after the file and the folio are on disk. */
import { randomUUID } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import type { Bytes } from '../../types.js';
import { type Answer, answer, isoTimestamp } from '../http/answer.js';
import { HttpRefusal } from '../http/http-refusal.js';
import type { CheckUpload } from '../http/operation.js';
import { requestToken, type TokenCheck } from '../http/parameters.js';
import type { Processor } from '../processing/open-processor.js';
import type { Folio, FolioStatus } from '../store/folio.js';
import type { FolioStore } from '../store/folio-store.js';
import type { FolioLimit } from '../uploads/folio-limit.js';
import { inspectUpload, receiveUpload } from '../uploads/receive-upload.js';
import type { UploadFolder } from '../uploads/upload-folder.js';

/** The interface's upload response object, 2.1. */
export interface UploadedFolio {
  readonly folio: string;
  readonly fileName: string;
  readonly dateUpload: string;
  readonly status: FolioStatus;
  readonly totalRecords: number;
}

export interface UploadContext {
  readonly checkToken: TokenCheck;
  readonly folioLimit: FolioLimit;
  readonly store: FolioStore;
  readonly uploads: UploadFolder;
  readonly processor: Processor;
  readonly maxUploadBytes: Bytes;
  /** Successful records per part. */
  readonly segmentRecords: number;
}

/**
 * Accepts a file. Removes everything of a refused upload.
 * @throws HttpRefusal 400, 401, 413 or 429; or what `checkUpload` throws.
 */
export async function upload(
  request: FastifyRequest,
  context: UploadContext,
  checkUpload: CheckUpload,
): Promise<Answer> {
  const givenToken = requestToken(request);
  if (givenToken !== undefined) context.checkToken(givenToken);
  if (!request.isMultipart()) throw new HttpRefusal(400, 'an upload must be multipart/form-data');
  let release: (() => void) | undefined;
  try {
    const admit = (fieldToken: unknown) => {
      context.checkToken(givenToken ?? fieldToken);
      release ??= context.folioLimit.acquire();
    };
    const folio = await acceptFile(request, context, admit, checkUpload);
    context.processor.add(folio);
    const uploaded: UploadedFolio = {
      folio: folio.folio,
      fileName: folio.fileName,
      dateUpload: isoTimestamp(folio.createdAt),
      status: folio.status,
      totalRecords: folio.records,
    };
    return answer(uploaded, `the file was read: ${folio.records} records to predict`);
  } finally {
    release?.();
  }
}

async function acceptFile(
  request: FastifyRequest,
  context: UploadContext,
  admit: (fieldToken: unknown) => void,
  checkUpload: CheckUpload,
): Promise<Folio> {
  const folio = randomUUID().replaceAll('-', '');
  const path = context.uploads.path(folio);
  try {
    const received = await receiveUpload(request, { maxUploadBytes: context.maxUploadBytes, path, admit });
    const inspected = await inspectUpload(path);
    const forcedFailures = await checkUpload({ path, records: inspected.records });
    await context.uploads.sync();
    return context.store.recordUploaded({
      ...received,
      ...inspected,
      ...forcedFailures,
      folio,
      createdAt: Date.now(),
      segmentRecords: context.segmentRecords,
    });
  } catch (error) {
    await context.uploads.remove(folio);
    throw error;
  }
}
