/**
 * How a command on a run has ended, as one JSON object: what is posted to the webhook, and what the metrics are made of.
 * It is the summary that `--json` prints, with an id and an outcome.
 */

import { randomUUID } from 'node:crypto';
import { checkCall } from '../check-call.js';
import type { Config } from '../config/schema.js';
import type { ProcessFigures } from '../report/measure-run.js';
import type { RunSummary } from '../report/run-summary.js';

/** The error, as in the last line of `--json`. */
export interface EndError {
  readonly code: string;
  readonly message: string;
  /** What to type or change next. */
  readonly hint: string | null;
  /** The command that goes on, if it differs from that of the hint. */
  readonly resume: string | null;
  readonly facts: object;
}

/**
 * `success`: published as wanted, or published already. `partial`: published, with records that failed or have no answer
 * (exit 3 and 8). `withheld`: complete, and not published (exit 9). `failure`: everything else.
 */
export const outcomes = ['success', 'partial', 'withheld', 'failure'] as const;

/** One of `outcomes`. */
export type Outcome = (typeof outcomes)[number];

/** How a command on a run has ended. */
export interface RunEnd {
  readonly version: 1;
  /** The same in each attempt to report it. */
  readonly id: string;
  readonly outcome: Outcome;
  readonly pipeline: string;
  readonly run: string | null;
  readonly exitCode: number;
  readonly error: EndError | null;
  /** When the command began and ended, ISO 8601. */
  readonly times: { readonly began: string; readonly ended: string };
  /** How the run stands; null if none was begun, or if its state cannot be read. */
  readonly summary: RunSummary | null;
  /** What this process has done; null if that is not known. */
  readonly thisProcess: ProcessFigures | null;
}

/** The facts for `describeEnd`. */
export interface EndFacts extends Pick<RunEnd, 'exitCode' | 'summary' | 'thisProcess'> {
  readonly error?: EndError | undefined;
  /** The run, where it is known although there is no summary. */
  readonly run?: string | undefined;
  /** Epoch milliseconds. */
  readonly began: number;
  readonly ended: number;
}

/** @returns the end of a command, under a new id. */
export function describeEnd(config: Pick<Config, 'pipeline'>, given: EndFacts): RunEnd {
  const pipeline = config?.pipeline;
  checkCall('describeEnd', { pipeline, needs: given, began: given?.began, ended: given?.ended });
  const { error, run, began, ended, ...facts } = given;
  return {
    version: 1,
    id: randomUUID(),
    outcome: outcomeOf(facts, error),
    pipeline,
    run: facts.summary?.run ?? run ?? null,
    exitCode: facts.exitCode,
    error: error ?? null,
    times: { began: new Date(began).toISOString(), ended: new Date(ended).toISOString() },
    summary: facts.summary,
    thisProcess: facts.thisProcess,
  };
}

function outcomeOf(
  { exitCode, summary }: Pick<EndFacts, 'exitCode' | 'summary'>,
  error: EndError | undefined,
): Outcome {
  if (error !== undefined) return 'failure';
  if (exitCode === 0) return 'success';
  if (summary?.state === 'withheld') return 'withheld';
  return exitCode === 3 || exitCode === 8 ? 'partial' : 'failure';
}

/**
 * Whether an end is reported. `collect --no-wait` that still waits (10) and a process that finds the pipeline locked
 * (11) have ended nothing: the process that works on the run reports its end. A `submit` that has succeeded is not the
 * end either. Samples are not reported.
 */
export function isEnd({ exitCode, summary }: Pick<RunEnd, 'exitCode' | 'summary'>): boolean {
  const isOpen = summary?.state === 'open' && exitCode === 0;
  const isSample = summary != null && summary.sample !== null;
  return exitCode !== 10 && exitCode !== 11 && !isOpen && !isSample;
}
