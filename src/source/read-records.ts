/** Reads the records of a checked source, file after file, from any position on. */
import type { BadRecord } from '../csv/bad-record.js';
import { unquoteText } from '../csv/quote-text.js';
import { scanRecords } from '../csv/scan-records.js';
import { type Batch, indexFrom, rowsOf, sliceOf } from '../csv/table.js';
import type { Dialect, Position, Source } from '../types.js';
import { isTranscoded, readDecoded } from './read-decoded.js';

interface ReadRecordsOptions {
  /** The most bytes of a record without its line end. */
  readonly maxRecordBytes: number;
  /**
   * Throws to stop, returns to skip the record. The record's `line` is known only if `firstLines` is given. Left out: all
   * bad records are skipped.
   */
  readonly onBadRecord?: ((bad: BadRecord) => void) | undefined;
  /** Physical line of each file's first record. Used for files that are read from their first record on. */
  readonly firstLines?: readonly number[];
  /** Whether the check of the source has found no bad text. Then the text is not checked again. */
  readonly hasGoodText?: boolean;
  /** Indexes of the sent fields, if `Batch.blank` is wanted. */
  readonly sentFields?: readonly number[];
  readonly signal?: AbortSignal;
}

/**
 * Reads the records of a source from a position on, up to its limit if it has one. Their numbers continue from file to
 * file.
 *
 * @param from where a record begins, and its number.
 * @throws SourceError when a file cannot be read; the signal's reason; what `onBadRecord` throws.
 */
export function readRecords(
  source: Pick<Source, 'files' | 'columns' | 'limit'>,
  from: { readonly position: Position; readonly record: number },
  options: ReadRecordsOptions,
): AsyncGenerator<Batch, void, undefined> {
  const { limit } = source;
  const { onBadRecord: onBad } = options;
  if (limit === undefined) return readFiles(source, from, options);
  const onBadRecord =
    onBad &&
    ((bad: BadRecord) => {
      if (bad.record <= limit) onBad(bad);
    });
  return firstRecords(readFiles(source, from, { ...options, onBadRecord }), limit);
}

async function* readFiles(
  source: Pick<Source, 'files' | 'columns'>,
  from: { readonly position: Position; readonly record: number },
  options: ReadRecordsOptions,
): AsyncGenerator<Batch, void, undefined> {
  const { maxRecordBytes, onBadRecord, signal, firstLines, hasGoodText = false, sentFields } = options;
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
      hasGoodText,
      ...(sentFields && { sentFields }),
      ...(onBadRecord && { onBadRecord: (bad) => onBadRecord(asInFile(bad, file.dialect)) }),
    });
  }
}

/** Ends after the record with this number, and stops reading there. */
export async function* firstRecords(
  batches: AsyncIterable<Batch>,
  limit: number,
): AsyncGenerator<Batch, void, undefined> {
  for await (const batch of batches) {
    const within = indexFrom(batch.numbers, limit + 1, batch.count);
    if (within > 0) yield within < batch.count ? headOf(batch, within) : batch;
    if (within < batch.count || batch.numbers[within - 1] === limit) return;
  }
}

function headOf(batch: Batch, count: number): Batch {
  const blank = batch.blank?.filter((row) => row < count);
  return { ...sliceOf(batch, 0, count), ...(blank && { blank }) };
}

/** Takes back the quotes that were added to a bad record in order to read its file (`source.quote: none`). */
export function asInFile(
  bad: BadRecord,
  { quote, delimiter }: Pick<Dialect, 'quote' | 'delimiter'>,
): BadRecord {
  return quote === 'none' ? { ...bad, raw: unquoteText(bad.raw, delimiter.charCodeAt(0)) } : bad;
}

/**
 * Yields batches that hold only the records with these numbers. Skips a number that no record has. Stops reading after
 * the last record, and requests a list of numbers only after it has yielded the records of the list before.
 *
 * @param numbers ascending, within each list and from list to list.
 */
export async function* pickRecords(
  batches: AsyncIterable<Batch>,
  numbers: AsyncIterable<readonly number[]> | Iterable<readonly number[]>,
): AsyncGenerator<Batch, void, undefined> {
  const source = batches[Symbol.asyncIterator]();
  let batch: Batch | undefined;
  try {
    for await (const wanted of numbers) {
      for (let at = 0; at < wanted.length; ) {
        while (batch === undefined || wanted[at]! > batch.numbers[batch.count - 1]!) {
          const read: IteratorResult<Batch> = await source.next();
          if (read.done) return;
          batch = read.value;
        }
        const rows: number[] = [];
        at = findRows(batch, wanted, at, rows);
        if (rows.length > 0) yield rowsOf(batch, rows);
      }
    }
  } finally {
    await source.return?.();
  }
}

/**
 * Finds the rows of a batch whose numbers are wanted.
 * @param from index in `wanted` at which to begin.
 * @param rows gets the indexes of the rows.
 * @returns index in `wanted` of the first number after the batch.
 */
function findRows(
  { numbers, count }: Pick<Batch, 'numbers' | 'count'>,
  wanted: readonly number[],
  from: number,
  rows: number[],
): number {
  const last = numbers[count - 1]!;
  let at = from;
  for (let row = 0; at < wanted.length && wanted[at]! <= last; at++) {
    if (numbers[row]! < wanted[at]!) row = indexFrom(numbers, wanted[at]!, count);
    if (numbers[row] === wanted[at]) rows.push(row++);
  }
  return at;
}

/** Leaves out the records that are blank in all sent fields. The batches must have `blank`. */
export async function* withoutBlank(batches: AsyncIterable<Batch>): AsyncGenerator<Batch, void, undefined> {
  for await (const batch of batches) {
    const { blank = NONE, count } = batch;
    if (blank.length === 0) yield batch;
    else if (blank.length < count) {
      let next = 0;
      const rows = Array.from({ length: count }, (_, row) => row).filter((row) => {
        const isBlank = blank[next] === row;
        if (isBlank) next += 1;
        return !isBlank;
      });
      yield rowsOf(batch, rows);
    }
  }
}

const NONE = new Int32Array(0);
