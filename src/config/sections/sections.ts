import { z } from 'zod';
import { isOtherFormat, outputFormat, readColumnType } from '../../output-format.js';
import { isFolder, isPublicationFolder, isS3, NO_RUN, s3Problem } from './output-names.js';
import {
  age,
  choice,
  columnNames,
  duration,
  flag,
  parsed,
  pathOnDisk,
  share,
  size,
  timerDuration,
  timeZone,
  wholeNumber,
} from './values.js';

const KB = 1024;
const MB = 1024 * KB;
const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

/** Sent column to source column, in the order in which the columns are sent. */
const sentColumns = z
  .record(z.string(), z.string().min(1).describe('the name of a source column'))
  .superRefine((columns, context) => {
    const names = Object.keys(columns);
    if (names.length === 0) context.addIssue({ code: 'custom' });
    for (const name of names) {
      const problem = sentNameProblem(name);
      if (problem) context.addIssue({ code: 'custom', path: [name], message: problem });
    }
  })
  .describe('a map of sent columns to source columns, with at least one of them');

/** The placeholders that `upload.description` may contain. */
const PLACEHOLDERS: ReadonlySet<string> = new Set(['{pipeline}', '{run}', '{chunk}', '{hash}']);

export const uploadSchema = z.strictObject({
  columns: sentColumns,
  keyColumn: z
    .string()
    .refine((name) => sentNameProblem(name) === undefined)
    .nullable()
    .describe('the name of a column, or null')
    .default('record_id'),
  skipBlank: flag.default(true),
  duplicates: choice(['send', 'once']).default('send'),
  description: z
    .string()
    .refine((text) => (text.match(/\{[^}]*\}/g) ?? []).every((found) => PLACEHOLDERS.has(found)))
    .describe(`a text that may contain ${[...PLACEHOLDERS].join(', ')}`)
    .default('{pipeline} {run} {chunk} {hash}'),
});

/** Rejects numbers, because JavaScript puts keys that are whole numbers first, which changes the order of columns. */
function sentNameProblem(name: string): string | undefined {
  if (name.trim() === '') return 'a sent column needs a name';
  if (/^\d+$/.test(name)) return 'the name of a sent column cannot be a number';
  if (/\p{Cc}/u.test(name)) return 'the name of a sent column cannot hold control characters';
  return undefined;
}

/**
 * The most bytes of an uploaded file, and of its records in the source. The 2 GiB of the CSV kernel must hold twice this
 * size (a file and its next record) and a batch as large as the largest record. An answer that echoes all of the file
 * and adds 1.25 GiB must fit into 32-bit offsets.
 */
export const MAX_CHUNK_BYTES = 512 * MB;

export const chunksSchema = z.strictObject({
  maxRecords: wholeNumber(1).default(10_000),
  maxBytes: size(KB, MAX_CHUNK_BYTES).default(8 * MB),
  canary: z
    .union([z.literal('auto'), wholeNumber(0)])
    .describe('a whole number, 0 or more, or auto')
    .default(0),
});

export const concurrencySchema = z.strictObject({
  uploads: wholeNumber(1).default(4),
  folios: wholeNumber(1).default(16),
  downloads: wholeNumber(1).default(4),
});

export const timeoutsSchema = z.strictObject({
  connect: timerDuration.default(10 * second),
  idle: timerDuration.default(minute),
  upload: timerDuration.default(15 * minute),
  shutdown: timerDuration.default(25 * second),
});

export const pollSchema = z.strictObject({
  first: timerDuration.default(second),
  max: timerDuration.default(5 * minute),
  timeout: duration.default(6 * hour),
  lostAfter: duration.default(30 * minute),
});

export const retrySchema = z.strictObject({
  first: timerDuration.default(second / 2),
  max: timerDuration.default(minute),
  giveUpAfter: duration.default(2 * hour),
});

/** Result column to the path of its value in the reply of the single-record search. */
const rescueColumns = z
  .record(
    z.string().min(1),
    z
      .string()
      .regex(/^[^\s.]+(\.[^\s.]+)*$/)
      .describe('a field of the search reply, or a path to one such as response.naics_code'),
  )
  .describe('a map of result columns to fields of the search reply')
  .default({});

export const ambiguousSchema = z.strictObject({
  policy: choice(['resubmit', 'hold']).default('resubmit'),
  maxRecords: wholeNumber(0).default(100_000),
});

export const failuresSchema = z.strictObject({
  tolerate: share.default(0.05),
  rounds: wholeNumber(0).default(0),
  rescue: choice(['none', 'search']).default('none'),
  rescueColumns,
  maxSplits: wholeNumber(0).default(64),
  onExceeded: choice(['publish', 'withhold']).default('publish'),
});

export const reuseSchema = z.strictObject({
  maxAge: age.default(0),
  failedAge: age.default(7 * day),
  epoch: z
    .string()
    .regex(/^(?!\s)\P{Cc}{0,64}(?<!\s)$/u)
    .describe(
      'a text of at most 64 characters, without control characters and without spaces around it; a number needs quotes',
    )
    .default(''),
  maxMiss: share.default(0.5),
});

const cap = z.int().min(0).nullable().describe('a whole number of records, or null').default(null);

export const budgetSchema = z.strictObject({
  perRun: cap,
  perDay: cap,
  perMonth: cap,
  pricePerRecord: z.number().min(0).nullable().describe('a price, 0 or more, or null').default(null),
  currency: z
    .string()
    .regex(/^[A-Z]{3}$/)
    .describe('a currency of three capital letters, such as USD')
    .default('USD'),
  timeZone: timeZone.default('UTC'),
});

const answerColumn = z
  .string()
  .min(1)
  .nullable()
  .describe("null, or the name of a column of the service's answers")
  .default(null);

export const resultSchema = z.strictObject({
  columns: columnNames(0).default([]),
  echo: columnNames(0).nullable().describe('null, or a list of sent columns, each once').default(null),
  onChange: choice(['fail', 'add', 'ignore']).default('fail'),
  report: z
    .strictObject({ code: answerColumn, confidence: answerColumn })
    .default({ code: null, confidence: null }),
});

/** Permission bits written in octal. The owner can read and write: the run must be able to finish its own file. */
const fileMode = z
  .string()
  .regex(/^0?[67][0-7]{2}$/)
  .transform((text) => Number.parseInt(text, 8))
  .describe('permissions in octal and in quotes, such as "0640", that let the owner read and write');

/** How a store at `s3://` is reached. Credentials come only from the environment and the profiles of AWS. */
const s3Schema = z.strictObject({
  endpoint: z
    .string()
    .refine((text) => {
      const url = URL.canParse(text) ? new URL(text) : undefined;
      return (
        url !== undefined && /^https?:$/.test(url.protocol) && !url.username && !url.password && !url.search
      );
    })
    .nullable()
    .describe('null, or an address such as https://s3.example.com without user, password and query')
    .default(null),
  region: z
    .string()
    .regex(/^[A-Za-z0-9-]{1,64}$/)
    .nullable()
    .describe('null, or a region such as eu-central-1')
    .default(null),
  forcePathStyle: flag.default(false),
});

/** The placeholders that `output.path` may contain. */
const PATH_PLACEHOLDERS: readonly string[] = ['{date}', '{run}', '{pipeline}'];

const outputPath = pathOnDisk({
  mayBe: isS3,
  address:
    'write s3://bucket/key, or a file on this machine, and copy it once its marker is there (gcloud storage cp)',
  stream:
    'the output is not written to standard output; write a file, and read it when foliopipe has ended with exit 0 (foliopipe run && cat FILE)',
});

const columnType = parsed(z.string(), readColumnType).describe(
  'integer, bigint, double, decimal(digits,scale), boolean, date or timestamp',
);

export const outputSchema = z.strictObject({
  path: outputPath
    .refine((path) => (path.match(/\{[^}]*\}/g) ?? []).every((found) => PATH_PLACEHOLDERS.includes(found)), {
      error: `has an unknown placeholder; the known ones are ${PATH_PLACEHOLDERS.join(', ')}`,
    })
    .refine((path) => !isFolder(path) || !isS3(path), {
      error:
        'names a folder in S3; write a folder on this machine and copy it (aws s3 sync), or s3://bucket/key.csv',
    })
    .refine((path) => !isS3(path) || s3Problem(path) === undefined, {
      error: ({ input }) => s3Problem(String(input)),
    })
    .refine((path) => !isFolder(path) || outputFormat(path.replace(/\/+$/, '')) === 'csv', {
      error: 'names a folder, which holds CSV files, and its name ends like another format',
    })
    .refine((path) => !isPublicationFolder(path.replaceAll('{run}', NO_RUN)), {
      error: 'names the folder of a single publication; write the folder of all of them',
    })
    .refine((path) => !isOtherFormat(path), {
      error: 'ends like a format that is not written; write .csv, .csv.gz, .csv.zst or .parquet',
    })
    .describe('the path of the file to write, of a folder with / at its end, or s3://bucket/key'),
  columns: z
    .union([z.literal('all'), columnNames(1)])
    .describe('all, or a list of source columns, each once')
    .default('all'),
  prefix: z
    .string()
    .regex(/^[A-Za-z0-9_]+$/)
    .describe('a text of letters, digits and _')
    .default('prediction_'),
  lineage: flag.default(false),
  mode: fileMode.default(0o640),
  delta: flag.default(false),
  drift: flag.default(false),
  maxFileBytes: size(KB, 1024 * 1024 * MB)
    .nullable()
    .describe('a size of at least 1KB, such as 256MB, or null')
    .default(null),
  keep: wholeNumber(1).default(2),
  s3: s3Schema.default({ endpoint: null, region: null, forcePathStyle: false }),
  types: z
    .record(z.string(), columnType)
    .describe('a map of columns of the output to their types, such as { prediction_confidence: double }')
    .default({}),
});

export const retentionSchema = z.strictObject({ results: duration.default(30 * day) });
