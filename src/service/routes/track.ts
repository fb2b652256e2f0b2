/** GET of a folio's progress (interface, 4.2). */
import type { FastifyRequest } from 'fastify';
import { type Answer, answer } from '../http/answer.js';
import { isoTimestamp } from '../http/iso-timestamp.js';
import type { FolioStatus } from '../store/folio.js';
import { findFolio, type ToldFolios } from './find-folio.js';
import { failedSegment, type Segment, successfulSegments } from './segments.js';

/** The interface's tracking response object, 2.1. */
export interface TrackedFolio {
  readonly folio: string;
  readonly filename: string;
  readonly description: string;
  readonly createdAt: string;
  readonly records: number;
  readonly progressInfo: {
    /** A `FolioStatus`; a service with faults may say anything. */
    readonly status: string;
    readonly processedPercentage: number;
    readonly processedRecords: number;
    readonly successfulRecords: number;
    readonly failedRecords: number;
  };
  readonly segmentation: readonly Segment[];
  readonly failedInfo: Segment;
}

const MESSAGES: Readonly<Record<FolioStatus, string>> = {
  PROCESSING: 'the file is being processed: the parts listed cannot yet be downloaded',
  FINISHED: 'the file is processed: the parts listed can be downloaded',
};

/** Refuses with 400 without a folio, 404 when it is not known. */
export function track(request: FastifyRequest, folios: ToldFolios): Answer {
  const folio = findFolio(request, folios);
  const processed = folio.successful + folio.failed;
  const tracked: TrackedFolio = {
    folio: folio.folio,
    filename: folio.fileName,
    description: folio.description,
    createdAt: isoTimestamp(folio.createdAt),
    records: folio.records,
    progressInfo: {
      status: folio.status,
      processedPercentage: Math.floor((100 * processed) / folio.records),
      processedRecords: processed,
      successfulRecords: folio.successful,
      failedRecords: folio.failed,
    },
    segmentation: successfulSegments(folio),
    failedInfo: failedSegment(folio),
  };
  return answer(tracked, MESSAGES[folio.status]);
}
