/** What a source is, as types; and the units of time and size. */

/** A span of time in milliseconds. */
export type Milliseconds = number;
/** A size in bytes. */
export type Bytes = number;

/** How the bytes of a source file are read; detected from the bytes or set by the config. */
export interface Dialect {
  /** A name that iconv-lite knows: `utf8`, `utf16le`, `utf16be`, `windows-1252`, `latin1`, ... */
  readonly encoding: string;
  /** Whether the file begins with a byte order mark (never part of the first column's name). */
  readonly bom: boolean;
  /** One ASCII character. */
  readonly delimiter: string;
  /** The line ends in the sample. A record may end with LF or CRLF in any case. */
  readonly newline: 'LF' | 'CRLF' | 'mixed' | 'none';
  readonly gzip: boolean;
  /** `none`: quotes are text (`source.quote`). Left out: a quote begins and ends a field. */
  readonly quote?: 'none';
  /** Decoded bytes before the header that are skipped (`source.skipLines`); left out if there are none. */
  readonly skippedBytes?: Bytes;
}

/** One file of a source, as its scan found it. */
export interface SourceFile {
  readonly path: string;
  /** What was copied to this path, as it is shown: `stdin`, a query, or a Parquet file. Left out of other files. */
  readonly name?: string;
  /** Size on disk. */
  readonly bytes: Bytes;
  /** Size of a gzipped file when it is unzipped; left out of other files. */
  readonly unzippedBytes?: Bytes;
  /** Size, times and inode as one text: equal stamps let a resume skip reading the file again. */
  readonly stamp: string;
  /** Hash of the bytes on disk, hex. */
  readonly sha256: string;
  /** Records of this file, including rejected ones, without the header. */
  readonly records: number;
  readonly dialect: Dialect;
  /** Offset of the first record in the decoded (unzipped, UTF-8, without BOM) bytes. */
  readonly dataStart: Bytes;
}

/** How many records may be bad or blank: a number of them, or a share of all records from 0 to 1. */
export type RejectLimit = { readonly records: number } | { readonly share: number };

/** A source after its whole check (rule "Check before paying", docs/architecture.md#check-before-paying). */
export interface Source {
  readonly files: readonly SourceFile[];
  /** Column names, the same in every file. */
  readonly columns: readonly string[];
  /** About how many bytes a field of each column has on average; left out in runs of older versions. */
  readonly columnBytes?: readonly number[];
  /** Records read, rejected ones included. */
  readonly records: number;
  readonly rejected: number;
  /** How many of the first records are read, for a sample (`--limit`). Left out: all. */
  readonly limit?: number;
  /** Records that are blank in all sent columns and are not sent (`upload.skipBlank`). Left out if there are none. */
  readonly blank?: number;
  /** Hash of the contents of all files in order, and of the limit, hex: it identifies the source. */
  readonly sha256: string;
}

/** A position in the source: the index of the file, and the offset in its decoded bytes. */
export interface Position {
  readonly file: number;
  readonly offset: Bytes;
}
