/** The schema of the whole config: every key with its type and default (config/nightly.example.yaml explains them). */
import { resolve } from 'node:path';
import { z } from 'zod';
import { type LoadConfig, loadSchema } from './sections/load-section.js';
import { type ReportConfig, reportSchema } from './sections/report-section.js';
import { scheduleSchema, timeZoneSchema } from './sections/schedule-section.js';
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
  reuseSchema,
  timeoutsSchema,
  uploadSchema,
} from './sections/sections.js';
import { type ServiceConfig, serviceSchema } from './sections/service-section.js';
import { type ResolvedSource, sourceSchema } from './sections/source-section.js';
import { filesSchema, type StatePlace, scratchSchema, stateSchema } from './sections/state-section.js';
import { filePath, shortName } from './sections/values.js';

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
  state: stateSchema,
  files: filesSchema,
  scratchDir: scratchSchema,
  schedule: scheduleSchema,
  timeZone: timeZoneSchema,
});

/** The config ready for use: with defaults, durations in ms, sizes in bytes, shares from 0 to 1, absolute paths. */
export type Config = Omit<
  ParsedConfig,
  'source' | 'service' | 'load' | 'report' | 'output' | 'state' | 'files' | 'stateDir' | 'scratchDir'
> &
  StatePlace & {
    readonly source: Omit<ParsedConfig['source'], 'query'> & ResolvedSource;
    readonly output: ParsedConfig['output'] & {
      /** `output.path` as it was written, where `path` is that of a run (`output-path.ts`). */
      readonly template?: string;
    };
    readonly service: ServiceConfig;
    readonly load: LoadConfig | null;
    readonly report: ReportConfig;
    /**
     * Files that are read or written for the command and not for the run: configs, the token, the log. Absolute paths.
     */
    readonly ownFiles: readonly string[];
  };

/**
 * The config as the schema gives it: the token may still be in its file, and addresses of databases and webhooks are
 * texts.
 */
export type ParsedConfig = DeepReadonly<z.output<typeof configSchema>>;

/**
 * What `parseConfig` takes: the sections and keys of a YAML file, with durations, sizes and shares as they are written
 * there. A value of another type, such as one from JSON that a program has not checked itself, is handed in as
 * `value as ConfigInput`: `parseConfig` checks every key and value in any case.
 */
export type ConfigInput = SectionsIn<
  DeepReadonly<Omit<z.input<typeof configSchema>, 'source' | 'stateDir'>>
> & {
  /** Left out if the program hands in the records. */
  readonly source?: DeepReadonly<z.input<typeof sourceSchema>> | undefined;
  /** Default: `.foliopipe` in the base folder. */
  readonly stateDir?: string | undefined;
};

/** A section may be left out if no key in it is needed. */
type SectionsIn<T> = {
  readonly [K in keyof T as object extends T[K] ? never : K]: T[K];
} & { readonly [K in keyof T as object extends T[K] ? K : never]?: T[K] | undefined };

type DeepReadonly<T> = T extends object ? { readonly [K in keyof T]: DeepReadonly<T[K]> } : T;
