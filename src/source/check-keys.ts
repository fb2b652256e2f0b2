/** Checks `source.key`: no record has a blank key column, and no two records have the same key. */
import { randomBytes } from 'node:crypto';
import { DigestKernel, HASH_BYTES, KEY_ENTRY_INTS } from '../csv/kernel/digest-kernel.js';
import { type Batch, fieldValue } from '../csv/table.js';
import { SourceError } from '../errors.js';
import { BUCKETS, HashMatcher } from '../streams/hash-buckets.js';
import { SpilledBuckets } from '../streams/spilled-buckets.js';
import { showText } from '../text.js';
import type { Source, SourceFile } from '../types.js';
import { lineAt } from './read-decoded.js';
import { pickRecords, readRecords } from './read-records.js';

export interface KeyOptions {
  /** The columns that name a record. The source must have them. */
  readonly columns: readonly string[];
  /** The folder of a temporary file, which holds the keys: memory does not grow with the number of records. */
  readonly folder: string;
}

type ReadSource = Pick<Source, 'files' | 'columns'>;
type ReadFile = Pick<SourceFile, 'path' | 'dialect'>;

export interface KeyCheck {
  /** @throws SourceError `SOURCE_KEY_BLANK`. */
  add(batch: Batch, file: ReadFile): Promise<void> | undefined;
  /**
   * Compares all keys that were added.
   * @throws SourceError `SOURCE_KEY_DOUBLED`, naming the first record whose key an earlier record has.
   */
  end(source: ReadSource, maxRecordBytes: number): Promise<void>;
  close(): void;
}

/** @param columns the columns of the source. */
export function openKeyCheck(key: KeyOptions, columns: readonly string[]): KeyCheck {
  const fields = key.columns.map((column) => columns.indexOf(column));
  const kernel = new DigestKernel(randomBytes(HASH_BYTES), fields);
  const buckets = new SpilledBuckets(KEY_ENTRY_INTS, key.folder);

  return {
    add: (batch, file) => {
      const { entries, blank } = kernel.keys(batch);
      if (blank !== undefined) return throwBlank(batch, file, blank.row, key.columns[blank.field]!);
      buckets.add(entries);
      return undefined;
    },
    end: async (source, maxRecordBytes) => {
      buckets.end();
      const doubled = firstDoubled(buckets);
      if (doubled === undefined) return;
      throw await doubledError(source, doubled, { maxRecordBytes, columns: key.columns, fields });
    },
    close: () => {
      kernel.release();
      buckets.close();
    },
  };
}

/** The numbers of an earlier record, and of the first record of the source that repeats the key of an earlier one. */
function firstDoubled(buckets: SpilledBuckets): readonly [number, number] | undefined {
  const matcher = new HashMatcher();
  let doubled: readonly [number, number] | undefined;
  for (let bucket = 0; bucket < BUCKETS; bucket++) {
    const entries = buckets.bucket(bucket);
    const numberOf = (entry: number) => entries[(entry + 1) * KEY_ENTRY_INTS - 1]!;
    for (const [entry, first] of matcher.doubled(entries, KEY_ENTRY_INTS)?.entries() ?? []) {
      if (first === entry) continue;
      const record = numberOf(entry);
      if (doubled === undefined || record < doubled[1]) doubled = [numberOf(first), record];
    }
  }
  matcher.release();
  return doubled;
}

async function throwBlank(batch: Batch, file: ReadFile, row: number, column: string): Promise<never> {
  const record = batch.numbers[row]!;
  const line = await lineAt(file, batch.base + batch.starts[row]!);
  throw new SourceError(
    'SOURCE_KEY_BLANK',
    `${file.path}: record ${record} (line ${line}): ${showText(column)} is blank, and source.key needs a value`,
    {
      hint: 'fill it in the file, or name other columns in source.key',
      facts: { file: file.path, record, line, column },
    },
  );
}

async function doubledError(
  source: ReadSource,
  [first, second]: readonly [number, number],
  options: {
    readonly maxRecordBytes: number;
    readonly columns: readonly string[];
    readonly fields: readonly number[];
  },
): Promise<SourceError> {
  const { maxRecordBytes, columns, fields } = options;
  const from = { position: { file: 0, offset: source.files[0]!.dataStart }, record: 1 };
  const batches = readRecords(source, from, { maxRecordBytes });
  const places: { readonly path: string; readonly line: number; readonly values: readonly string[] }[] = [];
  for await (const batch of pickRecords(batches, [[first], [second]])) {
    const file = source.files[batch.file]!;
    const values = fields.map((field) => fieldValue(batch, 0, field));
    places.push({ path: file.path, line: await lineAt(file, batch.base + batch.starts[0]!), values });
  }
  const [one, other] = places;
  const shown = columns.map((column, at) => `${column} ${showText(other?.values[at] ?? '')}`).join(', ');
  return new SourceError(
    'SOURCE_KEY_DOUBLED',
    `${other?.path}: record ${second} (line ${other?.line}) has the same key as record ${first} ` +
      `(${one?.path === other?.path ? '' : `${one?.path}, `}line ${one?.line}): ${shown}`,
    {
      hint: 'remove one of them from the source, or name more columns in source.key',
      facts: {
        file: other?.path ?? '',
        record: second,
        line: other?.line ?? 0,
        otherFile: one?.path ?? '',
        otherRecord: first,
        otherLine: one?.line ?? 0,
      },
    },
  );
}
