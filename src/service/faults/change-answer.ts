/** Applies faults to an answer: HTML pages instead of JSON, wrong counts and statuses, changed parts. */
import { type Answer, isDownload } from '../http/answer.js';
import type { Operation } from '../http/operation.js';
import type { TrackedFolio } from '../routes/track.js';
import type { UploadedFolio } from '../routes/upload.js';
import { changePart } from './change-part.js';
import type { Fault } from './fault.js';

/** @param seed identifies the part. The same seed always changes the same records. */
export function changeAnswer(
  answer: Answer,
  operation: Operation,
  fault: Fault,
  seed: readonly (string | number)[],
): Answer {
  return { ...answer, foreign: fault.foreign, body: changeBody(answer, operation, fault, seed) };
}

function changeBody(
  { status, body }: Answer,
  operation: Operation,
  fault: Fault,
  seed: readonly (string | number)[],
): Answer['body'] {
  if (fault.html) return htmlPage(status);
  if (isDownload(body)) return { ...body, content: changePart(body.content, fault, seed) };
  if (typeof body === 'string' || body.response === null) return body;
  return { ...body, response: changeResponse(body.response, operation, fault) };
}

function changeResponse(response: object, operation: Operation, fault: Fault): object {
  if (operation === 'track') return changeTracked(response as TrackedFolio, fault);
  if (operation === 'upload') return changeUploaded(response as UploadedFolio, fault);
  return response;
}

function changeUploaded(uploaded: UploadedFolio, { counts }: Fault): UploadedFolio {
  return { ...uploaded, totalRecords: sum(uploaded.totalRecords, counts?.total) };
}

function changeTracked(tracked: TrackedFolio, { counts, percentage, unknownStatus }: Fault): TrackedFolio {
  const { progressInfo, records } = tracked;
  const share = percentage === 'back' ? 0.5 : 1;
  return {
    ...tracked,
    records: sum(records, counts?.total),
    progressInfo: {
      status: unknownStatus ?? progressInfo.status,
      processedPercentage: Math.floor(progressInfo.processedPercentage * share),
      processedRecords: Math.floor(progressInfo.processedRecords * share),
      successfulRecords: sum(progressInfo.successfulRecords, counts?.successful),
      failedRecords: sum(progressInfo.failedRecords, counts?.failed),
    },
  };
}

function sum(count: number, difference = 0): number {
  return Math.max(0, count + difference);
}

/** A page like that of a proxy in front of the service. */
function htmlPage(status: number): string {
  const title = status < 400 ? 'Please sign in' : `${status} Service trouble`;
  return `<!doctype html>\n<html><head><title>${title}</title></head><body><h1>${title}</h1></body></html>\n`;
}
