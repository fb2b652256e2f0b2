/** What comes out and how long it is kept: `result`, `output` and `retention`. */
import { z } from 'zod';
import { choice, columnNames, filePath, flag } from './leaves.js';
import { duration } from './quantities.js';

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
