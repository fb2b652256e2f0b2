/** The schema of the whole config: every key with its type and default (config/nightly.example.yaml explains them). */
import { resolve } from 'node:path';
import { z } from 'zod';
import {
  ambiguousSchema,
  budgetSchema,
  chunksSchema,
  concurrencySchema,
  failuresSchema,
  outputSchema,
  pollSchema,
  resultSchema,
  retentionSchema,
  retrySchema,
  sourceSchema,
  timeoutsSchema,
  uploadSchema,
} from './sections.js';
import { type ServiceConfig, serviceSchema } from './service-section.js';
import { filePath } from './values.js';

export const configSchema = z.strictObject({
  pipeline: z
    .string()
    .regex(/^[A-Za-z0-9._-]{1,64}$/)
    .describe('a name of 1 to 64 letters, digits, dots, dashes and underscores'),
  source: sourceSchema,
  upload: uploadSchema,
  service: serviceSchema,
  chunks: chunksSchema,
  concurrency: concurrencySchema,
  timeouts: timeoutsSchema,
  poll: pollSchema,
  retry: retrySchema,
  ambiguous: ambiguousSchema,
  failures: failuresSchema,
  budget: budgetSchema,
  result: resultSchema,
  output: outputSchema,
  retention: retentionSchema,
  stateDir: filePath.transform((path) => resolve(path)).describe('the path of a folder'),
});

/** The config ready for use: with defaults, durations in ms, sizes in bytes, shares from 0 to 1, absolute paths. */
export type Config = Omit<ParsedConfig, 'service'> & { readonly service: ServiceConfig };

/** The config as the schema gives it: the token may still be in its file. */
export type ParsedConfig = DeepReadonly<z.output<typeof configSchema>>;

type DeepReadonly<T> = T extends object ? { readonly [K in keyof T]: DeepReadonly<T[K]> } : T;
