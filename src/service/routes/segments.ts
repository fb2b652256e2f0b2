/** How a folio's results are cut into parts, and how the interface shows them (2.1, segment object). */
import type { FileStatus } from '../../types.js';
import type { Folio } from '../store/folio.js';

export interface Segment {
  readonly part: number;
  /** `[<first>-<last>]`, 1-based positions among the records of its status; `[0-0]` when there are none. */
  readonly range: string;
  readonly filename: string;
}

/** Parts of successful records, filled one after the other; the last one grows while the folio is PROCESSING. */
export function successfulSegments(folio: Folio): Segment[] {
  const parts = Math.ceil(folio.successful / folio.segmentRecords);
  return Array.from({ length: parts }, (_, part) => {
    const first = part * folio.segmentRecords + 1;
    const last = Math.min(folio.successful, first + folio.segmentRecords - 1);
    return { part, range: `[${first}-${last}]`, filename: segmentName(folio, 'SUCCESSFUL', part) };
  });
}

/** The one part of failed records, there even when it is empty. */
export function failedSegment(folio: Folio): Segment {
  const first = folio.failed > 0 ? 1 : 0;
  return { part: 0, range: `[${first}-${folio.failed}]`, filename: segmentName(folio, 'FAILED', 0) };
}

/** The segment that a download asks for; undefined where the folio has none. */
export function findSegment(folio: Folio, fileStatus: FileStatus, part: number): Segment | undefined {
  const segments = fileStatus === 'SUCCESSFUL' ? successfulSegments(folio) : [failedSegment(folio)];
  return segments[part];
}

function segmentName(folio: Folio, fileStatus: FileStatus, part: number): string {
  return `${folio.folio}-${fileStatus.toLowerCase()}-${part}.csv`;
}
