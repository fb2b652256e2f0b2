/** What is read and what of it is sent: the sections `source` and `upload`. */
import iconv from 'iconv-lite';
import { z } from 'zod';
import { choice, filePath } from './leaves.js';

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
