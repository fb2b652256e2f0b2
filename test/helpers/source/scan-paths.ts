/** The check of a source with options that most tests share. */
import { type ScanSourceOptions, scanSource } from '../../../src/source/scan-source.js';
import type { Source } from '../../../src/types.js';

export function scanPaths(
  paths: readonly string[],
  changes: Partial<ScanSourceOptions> = {},
): Promise<Source> {
  return scanSource({
    paths,
    encoding: 'auto',
    delimiter: 'auto',
    maxRejected: { records: 0 },
    maxRecordBytes: 1_000_000,
    signal: new AbortController().signal,
    ...changes,
  });
}
