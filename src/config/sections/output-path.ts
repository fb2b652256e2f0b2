/**
 * The path of a run's output: the placeholders of `output.path`, with which each run may write a file of its own, and the
 * path of a sample (`--limit`). A run freezes the path as it is written in the config.
 */
import { normalize } from 'node:path';
import { ConfigError } from '../../errors.js';
import type { Config } from '../schema.js';
import { dayOf } from './calendar.js';
import { isAddress } from './values.js';

/** The facts of a run that decide on the path of its output. */
export interface OutputRun {
  readonly id: string;
  readonly pipeline: string;
  /** Epoch milliseconds. */
  readonly createdAt: number;
  readonly frozen: Readonly<Record<string, string>>;
}

/**
 * The day on which a run begins, as a frozen value of the run: its path stays the same whatever `budget.timeZone` is
 * later.
 * @param at epoch milliseconds.
 */
export function frozenOutputDate({ budget }: Pick<Config, 'budget'>, at: number): Record<string, string> {
  return frozenDate(dayOf(at, budget.timeZone));
}

function frozenDate(date: string): Record<string, string> {
  return { 'output.date': JSON.stringify(date) };
}

/** The config of a run: `output.path` is the path of this run. */
export function withOutputPath<T extends Pick<Config, 'output'>>(config: T, run: OutputRun): T {
  const template = config.output.template ?? config.output.path;
  const path = pathOf(template, run);
  return path === template ? config : { ...config, output: { ...config.output, path, template } };
}

/**
 * The config of a run that begins now. `{run}` stays in the path, because the id is not known yet.
 * @param now epoch milliseconds.
 */
export function withPlannedPath(config: Config, now: number): Config {
  const frozen = frozenOutputDate(config, now);
  return withOutputPath(config, { id: '{run}', pipeline: config.pipeline, createdAt: now, frozen });
}

/** How many days back the newest output is looked for: far enough for a monthly job. */
const RECENT_DAYS = 31;

/**
 * The path of the output of a run, then the paths of other runs on its day and the days before, the newest first. Only the
 * first path if it holds neither a date nor the id of a run. In the paths of other runs, `{run}` stays.
 * @param now epoch milliseconds.
 */
export function recentPaths(
  { output, pipeline, budget }: Pick<Config, 'output' | 'pipeline' | 'budget'>,
  now: number,
): readonly string[] {
  const { path, template = path } = output;
  const today = Date.parse(dayOf(now, budget.timeZone));
  const pathOn = (days: number) => {
    const date = new Date(today - days * DAY_MS).toISOString().slice(0, 10);
    return pathOf(template, { id: '{run}', pipeline, createdAt: now, frozen: frozenDate(date) });
  };
  const sameDay = template.includes('{run}') ? [pathOn(0)] : [];
  const days = template.includes('{date}') ? RECENT_DAYS : 0;
  return [...new Set([path, ...sameDay, ...Array.from({ length: days }, (_, at) => pathOn(at + 1))])];
}

const DAY_MS = 24 * 3_600_000;

/** The path of a run's output, by its frozen values; null in a run without one. */
export function frozenOutputPath(run: OutputRun): string | null {
  const template: string | null = JSON.parse(run.frozen['output.path'] ?? 'null');
  return template === null ? null : pathOf(template, run);
}

function pathOf(template: string, { id, pipeline, createdAt, frozen }: OutputRun): string {
  const day = frozen['output.date'];
  // A run of an older version has no day of its own.
  const date = day === undefined ? dayOf(createdAt, 'UTC') : String(JSON.parse(day));
  const values: Readonly<Record<string, string>> = { '{date}': date, '{run}': id, '{pipeline}': pipeline };
  const path = template.replace(/\{[^}]*\}/g, (found) => values[found] ?? found);
  return isAddress(path) ? path : normalize(path);
}

/** The path of an output's sample, which is always a plain CSV. @param output `output.path`, a file or a folder. */
function samplePath(output: string): string {
  return `${output.replace(/(?<=[^/])\/+$/, '')}.sample.csv`;
}

/**
 * The config of a sample, which is for a person to look at: a plain CSV beside the output, without a delta, which is
 * loaded into no table and never withheld.
 * @param limit the most records of the sample; undefined: no sample, the config is returned unchanged.
 * @throws ConfigError `LIMIT_INVALID`.
 */
export function withLimit(config: Config, limit: number | undefined): Config {
  if (limit === undefined) return config;
  if (!Number.isSafeInteger(limit) || limit < 1) {
    throw new ConfigError('LIMIT_INVALID', `limit ${limit}: expected a whole number of records, 1 or more`, {
      hint: 'such as: foliopipe run --limit 100',
    });
  }
  const { output, failures, report } = config;
  const path = samplePath(output.path);
  return {
    ...config,
    load: null,
    report: { ...report, html: null },
    failures: { ...failures, onExceeded: 'publish' },
    output: { ...output, path, delta: false, drift: false, maxFileBytes: null, types: {} },
  };
}
