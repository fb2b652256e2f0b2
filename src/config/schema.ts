/** The schema of the whole config: every key with its type and default (config/nightly.example.yaml explains them). */
import { resolve } from 'node:path';
import { z } from 'zod';
import { type LoadConfig, loadSchema } from './load-section.js';
import {
  ambiguousSchema,
  budgetSchema,
  chunksSchema,
  concurrencySchema,
  failuresSchema,
  outputSchema,
  pollSchema,
  reportSchema,
  resultSchema,
  retentionSchema,
  retrySchema,
  reuseSchema,
  timeoutsSchema,
  uploadSchema,
} from './sections.js';
import { type ServiceConfig, serviceSchema } from './service-section.js';
import { type ResolvedSource, sourceSchema } from './source-section.js';
import { filePath, shortName } from './values.js';

export const configSchema = z.strictObject({
  pipeline: shortName,
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
  reuse: reuseSchema,
  budget: budgetSchema,
  result: resultSchema,
  output: outputSchema,
  load: loadSchema,
  report: reportSchema,
  retention: retentionSchema,
  stateDir: filePath.transform((path) => resolve(path)).describe('the path of a folder'),
});

/** The config ready for use: with defaults, durations in ms, sizes in bytes, shares from 0 to 1, absolute paths. */
export type Config = Omit<ParsedConfig, 'source' | 'service' | 'load' | 'output'> & {
  readonly source: Omit<ParsedConfig['source'], 'query'> & ResolvedSource;
  readonly output: ParsedConfig['output'] & {
    /** `output.path` as it was written, where `path` is that of a run (`output-path.ts`). */
    readonly template?: string;
  };
  readonly service: ServiceConfig;
  readonly load: LoadConfig | null;
  /** Files that are read or written for the command and not for the run: configs, the token, the log. Absolute paths. */
  readonly ownFiles: readonly string[];
};

/** The config as the schema gives it: the token may still be in its file, and addresses of databases are texts. */
export type ParsedConfig = DeepReadonly<z.output<typeof configSchema>>;

type DeepReadonly<T> = T extends object ? { readonly [K in keyof T]: DeepReadonly<T[K]> } : T;
