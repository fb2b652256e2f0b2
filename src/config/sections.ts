/** What is read and what of it is sent: the sections `source` and `upload`. */
import iconv from 'iconv-lite';
import { z } from 'zod';
import {
  choice,
  columnNames,
  duration,
  filePath,
  flag,
  share,
  size,
  timerDuration,
  wholeNumber,
} from './values.js';

/** The names that stand for something in `upload.description`. */
const PLACEHOLDERS: ReadonlySet<string> = new Set(['{pipeline}', '{run}', '{chunk}', '{hash}']);

/** iconv-lite knows these too, but they are not encodings of text. */
const NOT_TEXT: ReadonlySet<string> = new Set(['base64', 'hex']);

export const sourceSchema = z.strictObject({
  path: filePath.describe('the path of a CSV file, or a glob'),
  encoding: z
    .string()
    .refine((name) => name === 'auto' || (iconv.encodingExists(name) && !NOT_TEXT.has(name.toLowerCase())))
    .describe('auto, or an encoding such as utf8, utf16le or latin1')
    .default('auto'),
  delimiter: z
    .string()
    .refine((text) => text === 'auto' || /^[\t\x20-\x7e]$/.test(text))
    .refine((text) => text !== '"')
    .describe('auto, or one ASCII character that is not a quote, such as ";" or "\\t"')
    .default('auto'),
  onBadRecord: choice(['fail', 'reject']).default('fail'),
  onChange: choice(['fail', 'supersede']).default('fail'),
});

/** Sent column to source column, in the order in which the columns are sent. */
const sentColumns = z
  .record(z.string(), z.string().min(1).describe('the name of a source column'))
  .superRefine((columns, context) => {
    const names = Object.keys(columns);
    if (names.length === 0) context.addIssue({ code: 'custom' });
    for (const name of names) {
      const trouble = nameTrouble(name);
      if (trouble) context.addIssue({ code: 'custom', path: [name], message: trouble });
    }
  })
  .describe('a map of sent columns to source columns, with at least one of them');

/** JavaScript puts keys that are whole numbers first, which would change the order of the columns. */
function nameTrouble(name: string): string | undefined {
  if (name.trim() === '') return 'a sent column needs a name';
  if (/^\d+$/.test(name)) return 'a sent column cannot be called by a number alone';
  if (/\p{Cc}/u.test(name)) return 'the name of a sent column cannot hold control characters';
  return undefined;
}

export const uploadSchema = z.strictObject({
  columns: sentColumns,
  keyColumn: z
    .string()
    .refine((name) => nameTrouble(name) === undefined)
    .nullable()
    .describe('the name of a column, or null')
    .default('record_id'),
  description: z
    .string()
    .refine((text) => (text.match(/\{[^}]*\}/g) ?? []).every((found) => PLACEHOLDERS.has(found)))
    .describe(`a text, in which ${[...PLACEHOLDERS].join(', ')} may stand`)
    .default('{pipeline} {run} {chunk} {hash}'),
});

// Who answers and how it is reached: the section `service`.

/** An address to which paths can be appended; http:// only where the token does not leave the machine. */
const address = z
  .string()
  .transform((text, context): string => {
    const url = URL.canParse(text) ? new URL(text) : undefined;
    if (!url || !/^https?:$/.test(url.protocol) || url.username || url.password || url.search || url.hash) {
      context.addIssue({ code: 'custom' });
      return z.NEVER;
    }
    if (url.protocol === 'http:' && !isLoopback(url.hostname)) {
      context.addIssue({ code: 'custom', message: INSECURE });
    }
    return url.href.replace(/\/+$/, '');
  })
  .nullable()
  .describe('an https:// address without user, password, query and fragment')
  .default(null);

const INSECURE =
  'http:// would send token and records in the clear; it is accepted only for localhost, so write https://';

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '[::1]' || /^127(\.\d{1,3}){3}$/.test(host);
}

export const serviceSchema = z.strictObject({
  embedded: flag.default(false),
  baseUrl: address,
  legacyBaseUrl: address,
  token: z
    .string()
    .trim()
    .regex(/^[\x21-\x7e]+$/)
    .nullable()
    .describe('a token of visible ASCII characters without spaces')
    .default(null),
  tokenFile: filePath.nullable().describe('the path of a file that holds the token').default(null),
  tokenIn: choice(['query', 'header']).default('query'),
  requestsPerSecond: z.number().positive().describe('a number above 0').default(10),
});

/** How much at once, how long and how often: `chunks`, `concurrency`, `timeouts`, `poll`, `retry`. */
const KB = 1024;
const MB = 1024 * KB;
const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;

/**
 * Of an uploaded file, and of what its records are in the source. Twice as much (a file and its next record), and a
 * batch that is as large as the largest record, must fit into the 2 GiB of the CSV kernel; an answer that gives all
 * back beside 1.25 GiB of its own must fit into places of 32 bits.
 */
export const CHUNK_BYTES_AT_MOST = 512 * MB;

export const chunksSchema = z.strictObject({
  maxRecords: wholeNumber(1).default(10_000),
  maxBytes: size(KB, CHUNK_BYTES_AT_MOST).default(8 * MB),
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

/** What guards the money: `ambiguous`, `failures` and `budget`. */
const RESUBMITTED_AT_MOST = 100_000;
const SPLITS_AT_MOST = 64;

/** Result column to the place of its value in the reply of the single-record search. */
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
  maxRecords: wholeNumber(0).default(RESUBMITTED_AT_MOST),
});

export const failuresSchema = z.strictObject({
  tolerate: share.default(0.05),
  rounds: wholeNumber(0).default(0),
  rescue: choice(['none', 'search']).default('none'),
  rescueColumns,
  maxSplits: wholeNumber(0).default(SPLITS_AT_MOST),
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
  timeZone: z
    .string()
    .refine(isTimeZone)
    .describe('a time zone such as UTC or America/Denver')
    .default('UTC'),
});

function isTimeZone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone !== '';
  } catch {
    return false;
  }
}

/** What comes out and how long it is kept: `result`, `output` and `retention`. */
const day = 24 * 60 * 60 * 1000;

export const resultSchema = z.strictObject({
  columns: columnNames(0).default([]),
  echo: columnNames(0).nullable().describe('null, or a list of sent columns, each once').default(null),
  onChange: choice(['fail', 'add', 'ignore']).default('fail'),
});

/** Permission bits as written in octal. Ours to read and write, or the run could not finish its own file. */
const fileMode = z
  .string()
  .regex(/^0?[67][0-7]{2}$/)
  .transform((text) => Number.parseInt(text, 8))
  .describe('permissions in octal and in quotes, such as "0640", that let the owner read and write');

export const outputSchema = z.strictObject({
  path: filePath
    .refine((path) => !path.endsWith('/'), { error: 'names a folder; write the path of a file' })
    .describe('the path of the file to write'),
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
});

export const retentionSchema = z.strictObject({ results: duration.default(30 * day) });
