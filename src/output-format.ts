/** The format of an output, which the ending of its path decides, and the types that its columns may have. */

/** How the stored file of an output holds its CSV. */
export type OutputFormat = 'csv' | 'csv.gz' | 'csv.zst' | 'parquet';

/** Every other ending means a plain CSV. Capitals make no difference. */
export function outputFormat(path: string): OutputFormat {
  const name = path.toLowerCase();
  if (name.endsWith('.gz')) return 'csv.gz';
  if (name.endsWith('.zst')) return 'csv.zst';
  return name.endsWith('.parquet') ? 'parquet' : 'csv';
}

const OTHER_FORMAT =
  /\.(?:(?:parquet|json|jsonl|ndjson|tar)\.(?:gz|zst)|bz2|xz|lz4|br|snappy|zip|7z|tgz|tar|json|jsonl|ndjson|avro|orc|xlsx?)$/i;

/** Whether a path ends like a file of another format: a CSV there would be mistaken for it. */
export function isOtherFormat(path: string): boolean {
  return OTHER_FORMAT.test(path);
}

/** The type of a column of an output (`output.types`); a column without one is a string. */
export type ColumnType =
  | 'integer'
  | 'bigint'
  | 'double'
  | `decimal(${number},${number})`
  | 'boolean'
  | 'date'
  | 'timestamp';

/** Types by the names of columns. */
export type ColumnTypes = Readonly<Record<string, ColumnType>>;

const MAX_DIGITS = 38;

/** Reads a type as people write it. @returns undefined if it is none. */
export function readColumnType(text: string): ColumnType | undefined {
  const type = text.toLowerCase().replaceAll(/\s/g, '');
  const isPlain = /^(?:integer|bigint|double|boolean|date|timestamp)$/.test(type);
  return isPlain || isDecimal(type) ? (type as ColumnType) : undefined;
}

function isDecimal(type: string): boolean {
  const [, digits, scale] = /^decimal\((\d+),(\d+)\)$/.exec(type) ?? [];
  return Number(digits) >= 1 && Number(digits) <= MAX_DIGITS && Number(scale) <= Number(digits);
}

/** The path and the form of an output that was published. */
export interface PublishedSettings {
  readonly path: string;
  readonly columns: 'all' | readonly string[];
  readonly prefix: string;
  readonly lineage: boolean;
  /** Permission bits. */
  readonly mode: number;
  /** Whether a delta file was written beside it. Missing: no. */
  readonly delta?: boolean;
  /** Whether differences of answers that were bought again are listed beside it. Missing: no. */
  readonly drift?: boolean;
  /** Missing: none. */
  readonly types?: ColumnTypes;
  /** The most bytes of each file in a folder; null or missing: one file. */
  readonly maxFileBytes?: number | null;
}
