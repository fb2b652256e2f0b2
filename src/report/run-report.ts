/**
 * All that is known of a run, as one object: for `runs show`, and for the page of `foliopipe report`. It is small for any
 * number of chunks: their times are counted in bins, and the longest ones are listed.
 */
import type {
  CheckpointReader,
  ChunkTimes,
  FailureReason,
  Night,
  Run,
  SpentOnDay,
} from '../checkpoint/checkpoint.js';
import { pagesOf } from '../checkpoint/walk-run.js';
import type { Config } from '../config/schema.js';
import { dayOf } from '../config/sections/calendar.js';
import { createRedact, type HoldsSecrets, secretsOf } from '../hide-secrets.js';
import { helpTexts } from './adoptable.js';
import { priceOf } from './origins.js';
import {
  nightOf,
  type RunSummary,
  type SummaryNotes,
  type SummarySources,
  summarizeRun,
} from './run-summary.js';
import { type Bins, type ChunksByPhase, countTimeline, lastStep, type TimelineCounter } from './timeline.js';
import { isComparable } from './unusual.js';
import { termsOfRun, type WhatNext, whatNext } from './what-next.js';

/** Everything that the page of a run shows. */
export interface RunReport {
  readonly summary: RunSummary;
  readonly label: string | null;
  readonly source: readonly { readonly name: string; readonly bytes: number; readonly records: number }[];
  /** When the report was made; epoch milliseconds, like all times. */
  readonly at: number;
  readonly timeZone: string;
  /** Why this process has ended without an output; null if it has not, or if another process makes the report. */
  readonly stopped: StoppedBy | null;
  /** What is left to do. */
  readonly next: WhatNext;
  /** What a person can do about single chunks without an answer. It costs nothing. */
  readonly help: readonly string[];
  /** Why records have no prediction, the commonest reasons first. */
  readonly reasons: readonly FailureReason[];
  /** What is known of its whole output; null while there is none, and for outputs of older versions. */
  readonly night: Night | null;
  /** The nights before it, newest first, and whether they are enough for a comparison. */
  readonly before: readonly Night[];
  readonly isCompared: boolean;
  readonly timeline: {
    readonly bins: Bins;
    readonly chunks: ChunksByPhase;
    readonly records: TimelineCounter['records'];
    /** How many chunks have times. */
    readonly counted: number;
  } | null;
  /** At most `MAX_LISTED` chunks: those that are not answered first, then those that took the longest. */
  readonly chunks: readonly ChunkTimes[];
  readonly spend: readonly (SpentOnDay & { readonly amount: number | null })[];
}

export interface StoppedBy {
  readonly code: string;
  readonly message: string;
  readonly hint: string | null;
}

const MAX_LISTED = 500;
const BINS = 120;
const SPEND_DAYS = 31;
const DAY = 86_400_000;

interface ReportSources extends SummarySources {
  readonly checkpoint: SummarySources['checkpoint'] & Pick<CheckpointReader, 'chunkTimes' | 'spendingByDay'>;
  readonly config: Pick<Config, 'budget' | 'failures' | 'output' | 'reuse'> & HoldsSecrets;
}

interface ReportTerms {
  readonly now: number;
  readonly found: RunSummary['found'];
  readonly notes?: SummaryNotes;
  readonly stopped?: StoppedBy | null;
  /** See `RunOptions.completeText`. */
  readonly completeText?: ((text: string) => string) | undefined;
}

/** @param run in any state. @returns the report, without the secrets of the config. */
export async function collectReport(
  sources: ReportSources,
  run: Run,
  { now, found, notes = {}, stopped = null, completeText = (text) => text }: ReportTerms,
): Promise<RunReport> {
  const { checkpoint, config } = sources;
  const { timeZone, pricePerRecord } = config.budget;
  const summary = await summarizeRun(sources, run.id, found, notes);
  const known =
    summary.publication === null ? undefined : await nightOf(checkpoint, run.pipeline, summary.publication);
  const days = await checkpoint.spendingByDay(run.pipeline, dayOf(now - (SPEND_DAYS - 1) * DAY, timeZone));
  const ended = known?.night.ended ?? run.finishedAt;
  const chunks = await readChunks(checkpoint, run, { now, ended });
  // A pruned run has no stretches, from which `failedBy` is counted.
  const reasons = known?.night.reasons ?? summary.failedBy;
  const { why, ways } = whatNext(summary, termsOfRun(config, run));
  const hideSecrets = createRedact(secretsOf(config));
  return hideSecrets<RunReport>({
    summary,
    label: run.label,
    source: run.source.files.map(({ name, path, bytes, records }) => ({
      name: name ?? path,
      bytes,
      records,
    })),
    at: now,
    timeZone,
    stopped: stopped && { ...stopped, hint: stopped.hint === null ? null : completeText(stopped.hint) },
    next: {
      why,
      ways: ways.map(({ command, effect }) => ({
        command: completeText(command),
        effect: completeText(effect),
      })),
    },
    help: helpTexts(summary).map(completeText),
    reasons,
    night: known?.night ?? null,
    before: known?.before ?? [],
    isCompared: known !== undefined && isComparable(known.night, known.before),
    ...chunks,
    spend: days.map(({ day, records }) => ({ day, records, amount: priceOf(records, pricePerRecord) })),
  });
}

/**
 * Reads the chunks page by page: once for the span of time, and once more to count in its bins. The span is that of the
 * run: from its beginning to its end, or to a later step of a chunk.
 */
async function readChunks(
  checkpoint: ReportSources['checkpoint'],
  run: Run,
  { now, ended }: { readonly now: number; readonly ended: number | null },
): Promise<Pick<RunReport, 'timeline' | 'chunks'>> {
  let from = run.createdAt;
  let to = ended ?? 0;
  let counted = 0;
  for await (const chunk of eachTime(checkpoint, run.id)) {
    const last = lastStep(chunk);
    if (last === null) continue;
    counted += 1;
    from = Math.min(from, chunk.cutAt ?? chunk.uploadAt ?? last);
    to = Math.max(to, last);
  }
  const isOpen = run.state === 'open' && now - to < DAY;
  const bins = { from, to: Math.max(isOpen ? now : to, from + 1), count: BINS };
  const counter = counted === 0 ? undefined : countTimeline(bins);
  const listed: Listed[] = [];
  for await (const chunk of eachTime(checkpoint, run.id)) {
    counter?.add(chunk);
    listed.push({ chunk, rank: rankOf(chunk) });
    if (listed.length >= 2 * MAX_LISTED) cutList(listed);
  }
  cutList(listed);
  const { chunks, records } = counter ?? {};
  return {
    timeline: chunks === undefined || records === undefined ? null : { bins, chunks, records, counted },
    chunks: listed.map(({ chunk }) => chunk).sort((a, b) => a.number - b.number),
  };
}

interface Listed {
  readonly chunk: ChunkTimes;
  /** The higher, the more worth a look. */
  readonly rank: number;
}

function cutList(listed: Listed[]): void {
  listed.sort((a, b) => b.rank - a.rank || a.chunk.number - b.chunk.number);
  listed.length = Math.min(listed.length, MAX_LISTED);
}

function rankOf(chunk: ChunkTimes): number {
  if (chunk.state !== 'downloaded') return Number.POSITIVE_INFINITY;
  return (chunk.downloadedAt ?? 0) - (chunk.uploadAt ?? chunk.downloadedAt ?? 0);
}

async function* eachTime(
  checkpoint: Pick<CheckpointReader, 'chunkTimes'>,
  run: string,
): AsyncGenerator<ChunkTimes> {
  const read = (after: number, limit: number) => checkpoint.chunkTimes(run, after, limit);
  for await (const page of pagesOf(0, ({ number }) => number, read)) yield* page;
}
