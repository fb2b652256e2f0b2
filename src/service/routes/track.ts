/** GET of a folio's progress and of the parts of its results (interface, 4.2). */
import type { FastifyRequest } from 'fastify';
import type { FileStatus } from '../../types.js';
import { type Answer, answer, isoTimestamp } from '../http/answer.js';
import { HttpRefusal } from '../http/http-refusal.js';
import { requiredText } from '../http/parameters.js';
import type { Folio, FolioStatus } from '../store/folio.js';
import type { FolioReader } from '../store/folio-store.js';

/** The interface's tracking response object, 2.1. */
export interface TrackedFolio {
  readonly folio: string;
  readonly filename: string;
  readonly description: string;
  readonly createdAt: string;
  readonly records: number;
  readonly progressInfo: {
    /** A `FolioStatus`; any text when a fault rule sets it. */
    readonly status: string;
    readonly processedPercentage: number;
    readonly processedRecords: number;
    readonly successfulRecords: number;
    readonly failedRecords: number;
  };
  readonly segmentation: readonly Segment[];
  readonly failedInfo: Segment;
}

/** One part of the results (interface, 2.1, segment object). */
interface Segment {
  readonly part: number;
  /** `[<first>-<last>]`: 1-based positions among the records of the same status; `[0-0]` when there are none. */
  readonly range: string;
  readonly filename: string;
}

const MESSAGES: Readonly<Record<FolioStatus, string>> = {
  PROCESSING: 'the file is being processed: the parts listed cannot yet be downloaded',
  FINISHED: 'the file is processed: the parts listed can be downloaded',
};

/** @throws HttpRefusal 400 without a folio, 404 when it is unknown. */
export function track(request: FastifyRequest, folios: FolioReader): Answer {
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

/** The folio that the query names. @throws HttpRefusal 400 without a folio, 404 when it is unknown. */
export function findFolio(request: FastifyRequest, folios: FolioReader): Folio {
  const folio = folios.find(requiredText(request.query, 'folio'));
  if (folio === undefined) throw new HttpRefusal(404, 'the folio is not known');
  return folio;
}

/** The parts of successful records, filled in order. The last one grows while the folio is PROCESSING. */
export function successfulSegments(folio: Folio): Segment[] {
  const parts = Math.ceil(folio.successful / folio.segmentRecords);
  return Array.from({ length: parts }, (_, part) => {
    const first = part * folio.segmentRecords + 1;
    const last = Math.min(folio.successful, first + folio.segmentRecords - 1);
    return { part, range: `[${first}-${last}]`, filename: segmentName(folio, 'SUCCESSFUL', part) };
  });
}

/** The single part of failed records, which exists even when it is empty. */
export function failedSegment(folio: Folio): Segment {
  const first = folio.failed > 0 ? 1 : 0;
  return { part: 0, range: `[${first}-${folio.failed}]`, filename: segmentName(folio, 'FAILED', 0) };
}

/** The segment that a download requests; undefined if the folio has no such segment. */
export function findSegment(folio: Folio, fileStatus: FileStatus, part: number): Segment | undefined {
  const segments = fileStatus === 'SUCCESSFUL' ? successfulSegments(folio) : [failedSegment(folio)];
  return segments[part];
}

function segmentName(folio: Folio, fileStatus: FileStatus, part: number): string {
  return `${folio.folio}-${fileStatus.toLowerCase()}-${part}.csv`;
}
