/**
 * Finds what is unlike the nights before. The rule (docs/report.md): a figure is unusual if it is further from the median
 * of the nights before than four times their spread, and by more than a least difference. The spread is the median of
 * the distances to the median (MAD), times 1.4826, which is the standard deviation of a normal distribution.
 */
import type { Night, NightFacts } from '../checkpoint/checkpoint.js';
import { countOf, formatDecimals, formatShare, formatSpan } from '../quantities.js';
import { escapeUnprintable, presentTexts } from '../text.js';

/** What is compared. */
type UnusualFigure =
  | 'failureRate'
  | 'topCodeShare'
  | 'meanConfidence'
  | 'columns'
  | 'duration'
  | 'spend'
  | 'drift';

/** A figure of a run that is far from that of the nights before. */
export interface Unusual {
  readonly figure: UnusualFigure;
  /** Shares from 0 to 1, milliseconds, or records that were paid for; null for columns. */
  readonly now: number | null;
  /** The median of the nights before. */
  readonly usual: number | null;
  /** With how many nights it was compared. */
  readonly nights: number;
  /** One sentence about it, without a full stop. */
  readonly text: string;
}

/** How many nights before must be known, how many records each must have, and the most nights that are compared with. */
export const MIN_NIGHTS = 5;
export const MIN_RECORDS = 1000;
export const MAX_NIGHTS = 30;

const SPREADS = 4;
const MAD_TO_DEVIATION = 1.4826;
/** Answers that must have been bought again for a comparison of their drift. */
const MIN_COMPARED = 100;
const MINUTE = 60_000;

/**
 * The nights that a night is compared with: whole outputs of other runs that were published before it, of the same kind
 * (rehearsal or not), with enough records. Each run counts once, with its last publication. Newest first.
 * @param nights newest publication first.
 */
export function nightsBefore(night: Night, nights: readonly Night[]): readonly Night[] {
  const seen = new Set([night.run]);
  return nights
    .filter(({ run, publication, rehearsal, counts }) => {
      if (publication >= night.publication || seen.has(run)) return false;
      seen.add(run);
      return rehearsal === night.rehearsal && counts.read >= MIN_RECORDS;
    })
    .slice(0, MAX_NIGHTS);
}

/** Whether the night is compared at all. */
export function isComparable(night: Night, before: readonly Night[]): boolean {
  return before.length >= MIN_NIGHTS && night.counts.read >= MIN_RECORDS;
}

/** @param before see `nightsBefore`. @returns nothing if the night is not compared. */
export function findUnusual(night: Night, before: readonly Night[]): readonly Unusual[] {
  if (!isComparable(night, before)) return [];
  return [
    ...compare('failureRate', failureRate(night), before.map(failureRate), {
      least: () => 0.02,
      text: (now, usual) => `${percent(now)} of the records failed, and ${percent(usual)} usually do`,
    }),
    ...codeShares(night, before),
    ...confidence(night, before),
    ...changedColumns(night, before),
    ...compare('duration', duration(night), before.map(duration), {
      least: (usual) => Math.max(usual / 2, 10 * MINUTE),
      text: (now, usual) => `it took ${formatSpan(now)}, and usually takes ${formatSpan(usual)}`,
    }),
    ...compare(
      'spend',
      night.paid,
      before.map(({ paid }) => paid),
      {
        least: (usual) => Math.max(usual / 2, MIN_RECORDS),
        text: (now, usual) =>
          `${countOf(now, 'record')} paid for, and usually ${countOf(Math.round(usual), 'record')}`,
      },
    ),
    ...compare('drift', drift(night), before.map(drift), {
      least: () => 0.05,
      text: (now, usual) =>
        `${percent(now)} of the answers that were bought again have changed, and usually ${percent(usual)}`,
    }),
  ];
}

/** FAILED records among those that were judged: blank records were not sent. */
export function failureRate({ counts, origins }: Pick<NightFacts, 'counts' | 'origins'>): number {
  const { successful, failed, unprocessed } = counts;
  const rows = successful + failed + unprocessed - origins.skipped.records;
  return rows === 0 ? 0 : (failed - origins.skipped.failed) / rows;
}

export function duration({ began, ended }: Pick<NightFacts, 'began' | 'ended'>): number {
  return Math.max(ended - began, 0);
}

/** The share of changed answers among those that were bought again; undefined if they are too few. */
function drift({ drift: found }: NightFacts): number | undefined {
  return found === null || found.compared < MIN_COMPARED ? undefined : found.changed / found.compared;
}

/** How often a code was given, as a share of all; undefined if codes were not counted. */
export function shareOf({ predictions }: NightFacts, code: string): number | undefined {
  if (predictions === null || predictions.code === null || predictions.coded === 0) return undefined;
  return (predictions.codes.find((one) => one.code === code)?.records ?? 0) / predictions.coded;
}

/** Compares the commonest code of the night, and the one that was the commonest on the nights before. */
function codeShares(night: Night, before: readonly Night[]): Unusual[] {
  const alike = before.filter(({ predictions }) => predictions?.code === night.predictions?.code);
  const codes = new Set([topCode(night), usualTopCode(alike)]);
  return [...codes].flatMap((code) => {
    if (code === undefined) return [];
    const share = (one: Night) => shareOf(one, code);
    return compare('topCodeShare', share(night), alike.map(share), {
      least: () => 0.1,
      text: (now, usual) =>
        `${percent(now)} of the predictions are ${escapeUnprintable(code)}, and ${percent(usual)} usually are`,
    });
  });
}

function topCode({ predictions }: NightFacts): string | undefined {
  return predictions?.codes[0]?.code;
}

/** The code that has the largest median share. */
function usualTopCode(before: readonly Night[]): string | undefined {
  const codes = new Set(before.flatMap((one) => topCode(one) ?? []));
  const shares = [...codes].map((code) => {
    const known = before.flatMap((one) => shareOf(one, code) ?? []);
    return { code, share: median(known) };
  });
  return shares.sort((a, b) => b.share - a.share)[0]?.code;
}

function confidence(night: Night, before: readonly Night[]): Unusual[] {
  const mine = night.predictions?.confidences;
  if (mine == null) return [];
  // Means of another column, or on another scale, cannot be compared.
  const means = before.map(({ predictions }) => {
    const theirs = predictions?.confidences;
    return theirs?.scale === mine.scale && predictions?.confidence === night.predictions?.confidence
      ? theirs.mean
      : undefined;
  });
  return compare('meanConfidence', mine.mean, means, {
    least: () => 0.05 * mine.scale,
    text: (now, usual) =>
      `the mean confidence is ${formatDecimals(now)}, and usually ${formatDecimals(usual)}`,
  });
}

function changedColumns(night: Night, before: readonly Night[]): Unusual[] {
  // A night without a success has no columns.
  const last = before.find(({ columns }) => columns.length > 0);
  if (last === undefined || night.columns.length === 0) return [];
  const added = night.columns.filter((column) => !last.columns.includes(column));
  const gone = last.columns.filter((column) => !night.columns.includes(column));
  if (added.length === 0 && gone.length === 0) return [];
  const parts = presentTexts([
    added.length > 0 && `adds ${added.map((name) => escapeUnprintable(name)).join(', ')}`,
    gone.length > 0 && `no longer has ${gone.map((name) => escapeUnprintable(name)).join(', ')}`,
  ]);
  const text = `the service ${parts.join(' and ')}, unlike on the night before`;
  return [{ figure: 'columns', now: null, usual: null, nights: 1, text }];
}

interface Terms {
  /** The least difference to the usual value. */
  least(usual: number): number;
  text(now: number, usual: number): string;
}

/** @param before values of the nights before; undefined for a night without one. */
function compare(
  figure: UnusualFigure,
  now: number | undefined,
  before: readonly (number | undefined)[],
  { least, text }: Terms,
): Unusual[] {
  const known = before.filter((value) => value !== undefined);
  if (now === undefined || known.length < MIN_NIGHTS) return [];
  const usual = median(known);
  const limit = Math.max(SPREADS * spread(known, usual), least(usual));
  if (Math.abs(now - usual) <= limit) return [];
  return [{ figure, now, usual, nights: known.length, text: text(now, usual) }];
}

function spread(values: readonly number[], middle: number): number {
  return MAD_TO_DEVIATION * median(values.map((value) => Math.abs(value - middle)));
}

/** @returns 0 for no values. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const half = sorted.length >> 1;
  if (sorted.length === 0) return 0;
  return sorted.length % 2 === 1 ? sorted[half]! : (sorted[half - 1]! + sorted[half]!) / 2;
}

function percent(share: number): string {
  return formatShare(share, 1);
}
