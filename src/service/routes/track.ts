/** GET of a folio's progress (interface, 4.2). */
import type { FastifyRequest } from 'fastify';
import { type Answer, answer } from '../http/answer.js';
import { isoTimestamp } from '../http/iso-timestamp.js';
import type { FolioStore } from '../store/folio-store.js';
import { findFolio } from './find-folio.js';
import { failedSegment, successfulSegments } from './segments.js';

const MESSAGES = {
  PROCESSING: 'the file is being processed: the parts listed cannot yet be downloaded',
  FINISHED: 'the file is processed: the parts listed can be downloaded',
};

/** Refuses with 400 without a folio, 404 when it is not known. */
export function track(request: FastifyRequest, store: FolioStore): Answer {
  const folio = findFolio(request, store);
  const processed = folio.successful + folio.failed;
  return answer(
    {
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
    },
    MESSAGES[folio.status],
  );
}
