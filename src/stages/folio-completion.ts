/** When a folio is complete and which parts to fetch of it (DESIGN, section 5): pure decisions. */
import type { FolioReport } from '../api/prediction-api.js';
import type { PartReference } from '../types.js';

/**
 * Complete means FINISHED, with both counts, and successful parts listed that cover the successful records.
 * Where the ranges cannot be read, one listed part is enough: what it holds is counted after the download.
 */
export function isComplete(report: FolioReport): boolean {
  if (report.status !== 'FINISHED' || report.counts === null) return false;
  const { successful } = report.counts;
  if (successful === 0) return true;
  if (report.successfulParts.length === 0) return false;
  return report.listedRecords === null || report.listedRecords >= successful;
}

/** The parts of a complete folio; the failed one only where records failed. */
export function listParts(report: FolioReport): PartReference[] {
  const { successful, failed } = report.counts!;
  const parts: PartReference[] =
    successful === 0 ? [] : report.successfulParts.map((part) => ({ fileStatus: 'SUCCESSFUL', part }));
  return failed === 0 ? parts : [...parts, { fileStatus: 'FAILED', part: report.failedPart }];
}
