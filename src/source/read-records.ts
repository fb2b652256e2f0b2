/** Reads the records of a checked source, file after file, from any position on. */
import type { BadRecord } from '../csv/bad-record.js';
import type { Batch } from '../csv/batch.js';
import { scanRecords } from '../csv/scan-records.js';
import type { Position, Source } from '../types.js';
import { isTranscoded, readDecoded } from './read-decoded.js';

export interface ReadRecordsOptions {
  /** Most bytes of a record without its line end. */
  readonly maxRecordBytes: number;
  /** Throws to stop, returns to skip the record. The record's `line` is known only if `firstLines` is given. */
  readonly onBadRecord: (bad: BadRecord) => void;
  /** Physical line of each file's first record. Used for files that are read from their first record on. */
  readonly firstLines?: readonly number[];
  readonly signal?: AbortSignal;
}

/**
 * Reads the records of a source from a position on. Their numbers continue from file to file.
 *
 * @param from where a record begins, and its number.
 * @throws SourceError when a file cannot be read; the signal's reason; what `onBadRecord` throws.
 */
export async function* readRecords(
  source: Pick<Source, 'files' | 'columns'>,
  from: { readonly position: Position; readonly record: number },
  options: ReadRecordsOptions,
): AsyncGenerator<Batch, void, undefined> {
  const { maxRecordBytes, onBadRecord, signal, firstLines } = options;
  let firstRecord = from.record;
  for (const [index, file] of source.files.entries()) {
    if (index < from.position.file) continue;
    const base = index === from.position.file ? from.position.offset : file.dataStart;
    const firstLine = base === file.dataStart ? firstLines?.[index] : undefined;
    const decoded = readDecoded(file, base, signal === undefined ? {} : { signal });
    firstRecord = yield* scanRecords(decoded, {
      delimiter: file.dialect.delimiter,
      fields: source.columns.length,
      maxRecordBytes,
      file: index,
      base,
      firstRecord,
      ...(firstLine !== undefined && { firstLine }),
      transcoded: isTranscoded(file.dialect),
      onBadRecord,
    });
  }
}
