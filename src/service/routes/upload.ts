/** POST of a file (interface, 4.1): the folio is given only when file and folio are on disk. */
import { randomUUID } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import { type Answer, answer } from '../http/answer.js';
import { HttpRefusal } from '../http/http-refusal.js';
import { requestToken, type TokenCheck } from '../http/parameters.js';
import type { Processor } from '../processing/open-processor.js';
import type { Folio, FolioStatus } from '../store/folio.js';
import type { FolioStore } from '../store/folio-store.js';
import { inspectUpload } from '../uploads/read-upload.js';
import { receiveUpload } from '../uploads/receive-upload.js';
import type { UploadFolder } from '../uploads/upload-folder.js';
import type { Screen } from './screen.js';
import { isoTimestamp } from './track.js';

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
  readonly admission: Admission;
  readonly store: FolioStore;
  readonly uploads: UploadFolder;
  readonly processor: Processor;
  readonly maxUploadBytes: number;
  readonly segmentRecords: number;
}

/** Refuses with 400, 401, 413 or 429, or as `screen` does; then nothing of the upload is left. */
export async function upload(
  request: FastifyRequest,
  context: UploadContext,
  screen: Screen,
): Promise<Answer> {
  const givenToken = requestToken(request);
  if (givenToken !== undefined) context.checkToken(givenToken);
  if (!request.isMultipart()) throw new HttpRefusal(400, 'an upload is multipart/form-data');
  let release: (() => void) | undefined;
  try {
    const admit = (fieldToken: unknown) => {
      context.checkToken(givenToken ?? fieldToken);
      release ??= context.admission.enter();
    };
    const folio = await acceptFile(request, context, admit, screen);
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
  screen: Screen,
): Promise<Folio> {
  const folio = randomUUID().replaceAll('-', '');
  const path = context.uploads.path(folio);
  try {
    const received = await receiveUpload(request, { maxUploadBytes: context.maxUploadBytes, path, admit });
    const inspected = await inspectUpload(path);
    const madeToFail = await screen({ path, records: inspected.records });
    await context.uploads.sync();
    return context.store.recordUploaded({
      ...received,
      ...inspected,
      ...madeToFail,
      folio,
      createdAt: Date.now(),
      segmentRecords: context.segmentRecords,
    });
  } catch (error) {
    await context.uploads.remove(folio);
    throw error;
  }
}

// Keeps the number of open folios within bounds, uploads on their way included.

/** Longest `Retry-After`, in seconds. */
const MAX_RETRY_AFTER = 60;

interface Admission {
  /**
   * Takes a place for one upload, until the function that it returns is called.
   * @throws HttpRefusal 429 when all are taken; `Retry-After` is when the first folio may be finished.
   */
  enter(): () => void;
}

export function createAdmission(
  processor: Pick<Processor, 'open' | 'fewestLeft'>,
  limits: { readonly maxOpen: number; readonly recordsPerSecond: number },
): Admission {
  let uploading = 0;
  return {
    enter() {
      if (processor.open + uploading >= limits.maxOpen) {
        throw new HttpRefusal(429, `${limits.maxOpen} folios are open already`, { retryAfter: retryAfter() });
      }
      uploading++;
      return () => {
        uploading--;
      };
    },
  };

  function retryAfter(): number {
    if (limits.recordsPerSecond === 0) return 1;
    const seconds = Math.ceil((processor.fewestLeft * processor.open) / limits.recordsPerSecond);
    return Math.min(MAX_RETRY_AFTER, Math.max(1, seconds));
  }
}
