/** Nights of one pipeline that reuses answers, against the fake service, with a clock that a test advances. */
import { readFile, writeFile } from 'node:fs/promises';
import { expect } from 'vitest';
import type { RunOptions, RunSummary } from '../../../pipelines/index.js';
import { systemClock } from '../../../src/streams/clock.js';
import type { OriginCounts } from '../../../src/types.js';
import { scramble, shuffled } from '../csv/generated-csv.js';
import { type Changes, type Job, type JobSetup, withJob } from './fake-service-job.js';
import { readRaw, sentOf, sourceColumns, sourceText } from './sample-source.js';

export const DAY = 24 * 60 * 60 * 1000;

/** A record of a source, in its own bytes. */
export interface Line {
  readonly record: Readonly<Record<string, string>>;
  readonly raw: string;
}

export interface Night extends RunSummary {
  /** The names that the service accepted tonight, sorted: once for each time that they were sent. */
  readonly bought: readonly string[];
}

export interface Nights extends Job {
  /** Writes the source and runs the job. */
  night(lines: readonly Line[], changes?: Changes, options?: RunOptions): Promise<Night>;
  /** Runs the job again on the unchanged source. */
  again(changes?: Changes, options?: RunOptions): Promise<Night>;
  /** The error that a night ends with, and what it bought. */
  badNight(
    lines: readonly Line[],
    changes?: Changes,
    options?: RunOptions,
  ): Promise<{ readonly error: unknown; readonly bought: readonly string[] }>;
  /** Options with the clock of the nights. */
  readonly options: RunOptions;
  /** Lets time pass. @param time milliseconds. */
  pass(time: number): void;
  write(lines: readonly Line[]): Promise<void>;
  rows(): Promise<Record<string, string>[]>;
}

/** Runs `use` with a new service and a new folder. Answers are reused for 90 days. */
export async function withNights(setup: JobSetup, use: (nights: Nights) => Promise<void>): Promise<void> {
  const reuse = { maxAge: '90d', ...(setup.config?.reuse as object | undefined) };
  await withJob({ ...setup, config: { ...setup.config, reuse } }, async (job) => {
    let passed = 0;
    const clock = { now: () => Date.now() + passed, sleep: systemClock.sleep };
    const bought = (since: number) =>
      job.service.folios
        .slice(since)
        .flatMap(({ records }) => records.map(({ name }) => name ?? ''))
        .sort();
    const again: Nights['again'] = async (changes, options) => {
      const since = job.service.folios.length;
      const summary = await job.enrich(changes, { clock, ...options });
      return { ...summary, bought: bought(since) };
    };
    const write = (lines: readonly Line[]) => writeFile(job.sourcePath, textOf(lines));
    await use({
      ...job,
      again,
      write,
      options: { clock },
      night: async (lines, changes, options) => {
        await write(lines);
        return again(changes, options);
      },
      badNight: async (lines, changes, options) => {
        await write(lines);
        const since = job.service.folios.length;
        const error = await job.failure(changes, { clock, ...options });
        return { error, bought: bought(since) };
      },
      pass: (time) => {
        passed += time;
      },
      rows: async () => readRaw(await readFile(job.outputPath, 'utf8')).map(({ record }) => record),
    });
  });
}

/** The first records of the sample source, with all that makes CSV awkward; some are equal, some fail. */
export function sampleLines(records: number): Line[] {
  return readRaw(sourceText(records));
}

/** A record with plain values. */
export function line(name: string, address = '1 Main St', state = 'MT', note = ''): Line {
  const record = { id: name, Business: name, Address: address, State: state, Note: note };
  return { record, raw: sourceColumns.map((column) => record[column]).join(',') };
}

export function textOf(lines: readonly Line[]): string {
  return `${sourceColumns.join(',')}\n${lines.map(({ raw }) => `${raw}\n`).join('')}`;
}

/** A record with another value in a column that is not sent. */
export function withNote({ record, raw }: Line, note: string): Line {
  const at = raw.lastIndexOf(record.Note!.includes('"') ? ',"' : ',');
  return { record: { ...record, Note: note }, raw: `${raw.slice(0, at)},${note}` };
}

/**
 * The source of the next night: one record in a hundred has another address, one in twenty is gone, as many are new,
 * all have another note, and the order is different.
 */
export function changedLines(lines: readonly Line[], seed: number): Line[] {
  const kept = lines.filter((_, at) => scramble(seed, at) % 20 !== 0);
  const changed = kept.map((one, at) => (at % 100 === 50 ? line(`Moved ${seed} ${at}`, 'Elsewhere') : one));
  const added = Array.from({ length: Math.ceil(lines.length / 20) }, (_, at) => line(`New ${seed}-${at}`));
  return shuffled([...changed, ...added], seed).map((one) => withNote(one, `night ${seed}`));
}

/** The names of the records whose sent fields are in none of the earlier sources, sorted. */
export function unknownNames(lines: readonly Line[], ...earlier: readonly (readonly Line[])[]): string[] {
  const known = new Set(earlier.flat().map(sentKey));
  return lines
    .filter((one) => !known.has(sentKey(one)))
    .map(({ record }) => record.Business!)
    .sort();
}

/** What is sent of a record, as one text. */
export function sentKey({ record }: Line): string {
  return JSON.stringify(sentOf(record));
}

/** Expects the counts of a run to balance, by their origin too. */
export function expectBalance({ counts, origins }: RunSummary): void {
  const { read, successful, failed, unprocessed, rejected } = counts;
  expect(successful + failed + unprocessed + rejected).toBe(read);
  const sumOf = (count: keyof OriginCounts) =>
    Object.values(origins).reduce((sum, of: OriginCounts) => sum + of[count], 0);
  expect({
    successful: sumOf('successful'),
    failed: sumOf('failed'),
    unprocessed: sumOf('unprocessed'),
    records: sumOf('records'),
  }).toEqual({ successful, failed, unprocessed, records: read - rejected });
}
