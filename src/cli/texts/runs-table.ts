/** The table of `foliopipe runs`: a line for each run, in columns that are as wide as their widest value. */
import type { Run } from '../../../pipelines/index.js';
import { partialFacts, priceOf, recordsToSend, withheldExitCode } from '../../../pipelines/index.js';
import { formatAmount, formatCount, formatDuration } from '../../quantities.js';
import { presentTexts } from '../../text.js';

/** A run, and what its checkpoint row does not hold. */
export interface ListedRun {
  readonly run: Run;
  /** Records that were, or may have been, paid for. */
  readonly paid: number;
  readonly isLoadFailed: boolean;
}

interface RunsTableOptions {
  /** The config section `budget`: its time zone and price. */
  readonly timeZone: string;
  readonly pricePerRecord: number | null;
  /** Whether the runs may be of several pipelines. */
  readonly hasPipelines: boolean;
}

/** @returns lines, the first of them the header; empty without runs. */
export function runsTable(runs: readonly ListedRun[], options: RunsTableOptions): string {
  if (runs.length === 0) return '';
  const { timeZone, pricePerRecord, hasPipelines } = options;
  // Swedish times are written as in ISO 8601.
  const clock = new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short', timeStyle: 'short' });
  const isSentApart = runs.some(({ run }) => recordsToSend(run) !== run.source.records - run.source.rejected);
  const header = [
    ...presentTexts(['run', 'start', 'took', 'records', isSentApart && 'sent']),
    ...['failed', pricePerRecord === null ? 'paid' : 'cost', 'end'],
  ];
  const rows = runs.map((listed) => {
    const { run, paid } = listed;
    const { id, source, createdAt } = run;
    // A run that is published again days later has not worked for days.
    const ended = run.publication?.night?.ended ?? run.finishedAt;
    const counts = (run.publication ?? run.confirmed ?? run.withheld)?.counts;
    const price = priceOf(paid, pricePerRecord);
    const cost = price === null ? formatCount(paid) : formatAmount(price);
    return presentTexts([
      id,
      clock.format(createdAt),
      run.finishedAt === null || ended === null ? '-' : formatDuration(ended - createdAt),
      formatCount(source.records),
      isSentApart && formatCount(recordsToSend(run)),
      counts === undefined ? '-' : formatCount(counts.failed),
      run.rehearsal ? '-' : cost,
      endText(listed, hasPipelines),
    ]);
  });
  const lines = [header, ...rows];
  const widths = header.map((_, column) => Math.max(...lines.map((line) => line[column]!.length)));
  return lines.map((line) => `${alignedLine(line, widths)}\n`).join('');
}

/** Aligns numbers to the right, and does not pad the last column. */
function alignedLine(cells: readonly string[], widths: readonly number[]): string {
  const aligned = cells.map((cell, at) => {
    if (at === cells.length - 1) return cell;
    return at < 2 ? cell.padEnd(widths[at]!) : cell.padStart(widths[at]!);
  });
  return aligned.join('  ');
}

function endText({ run, isLoadFailed }: ListedRun, hasPipelines: boolean): string {
  const { state, pipeline, source, rehearsal, label, prunedAt, publication, confirmed, withheld } = run;
  const exitCode = exitCodeOf(run);
  const partial = partialFacts(run);
  const unprocessed = (partial ?? publication ?? confirmed ?? withheld)?.counts.unprocessed ?? 0;
  return presentTexts([
    ...[exitCode === null ? state : state === 'done' ? `exit ${exitCode}` : `exit ${exitCode}, ${state}`],
    partial !== null && `partial publication ${partial.publication}, exit ${partial.exitCode}`,
    unprocessed > 0 && `${formatCount(unprocessed)} unprocessed`,
    confirmed !== null && 'no output, confirmed',
    source.limit !== undefined && `sample, --limit ${source.limit}`,
    prunedAt !== null && 'pruned',
    rehearsal && 'rehearsal',
    isLoadFailed && 'load failed',
    hasPipelines && pipeline,
    label !== null && label,
  ]).join('  ');
}

/** The exit code with which a run has ended; null if it has not. */
export function exitCodeOf({ publication, confirmed, withheld }: Run): number | null {
  return withheld === null ? ((publication ?? confirmed)?.exitCode ?? null) : withheldExitCode;
}
