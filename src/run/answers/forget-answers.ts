/** Gives up stored answers, so that their records are bought again. */
import type { Checkpoint } from '../../checkpoint/checkpoint.js';
import type { Config } from '../../config/schema.js';
import { ConfigError } from '../../errors.js';
import type { AnswerStore, Unwanted } from '../../reuse/answer-store.js';
import type { SharedCopies } from '../../spool/shared-copies.js';
import type { Milliseconds } from '../../types.js';
import { isUsable } from '../open/choose-records.js';
import { beginningWith } from '../open/named-run.js';
import { findRecords } from './find-records.js';
import { type DroppedAnswers, dropAnswers } from './prune-answers.js';

/** Which answers to give up. */
export type ForgetWhat =
  /** Those of a run or an import: its id, or the beginning of exactly one. */
  | { readonly run: string }
  /** Those that count for the config and were paid for longer ago than this. */
  | { readonly olderThan: Milliseconds }
  /** Those of the source's records with these values of `source.key`. Values of several columns are a line of CSV. */
  | { readonly keys: readonly string[] }
  /** Those of every pipeline in the state folder. */
  | { readonly all: true };

/** What was forgotten. */
export interface Forgotten {
  /** The segments that have lost answers, with what they have lost and what is left. */
  readonly segments: readonly DroppedAnswers[];
  /** Answers that were given up, counting equal ones each time. Their records are bought again if a source has them. */
  readonly successful: number;
  readonly failed: number;
}

interface ForgetContext {
  readonly checkpoint: Pick<
    Checkpoint,
    'segments' | 'latestRun' | 'recordSegment' | 'recordSegmentsForgotten'
  >;
  readonly answers: AnswerStore;
  /** Copies of sources that all machines see. */
  readonly copies?: SharedCopies | undefined;
  readonly signal: AbortSignal;
  /** Epoch milliseconds. */
  readonly now: number;
}

/**
 * Writes each segment again without the answers, commits its row, and removes the old file. A segment without any answer
 * stays: it says that the answers of its run are not wanted.
 * @throws ConfigError `REUSE_RUN_UNKNOWN`, `RUN_AMBIGUOUS`, `REUSE_KEY_MISSING`, `REUSE_KEY_UNKNOWN`: then nothing is
 *   given up.
 */
export async function forgetAnswers(
  { checkpoint, answers, copies, signal, now }: ForgetContext,
  config: Config,
  what: ForgetWhat,
): Promise<Forgotten> {
  const all = await checkpoint.segments();
  const ids = [...new Set(all.map((one) => one.run))];
  const run = 'run' in what ? beginningWith(await idOf(what.run, checkpoint, config), ids) : undefined;
  const chosen = all.filter((segment) =>
    'run' in what ? segment.run === run : 'all' in what || isUsable(segment, config),
  );
  if ('run' in what && chosen.length === 0) {
    throw new ConfigError('REUSE_RUN_UNKNOWN', `there are no stored answers of ${what.run}`, {
      hint: 'see the runs and imports that have some with: foliopipe reuse show',
      facts: { run: what.run },
    });
  }
  const unwanted = await unwantedOf(what, config, { checkpoint, copies, signal, now });
  const segments: DroppedAnswers[] = [];
  for (const segment of chosen) {
    const found = await dropAnswers({ checkpoint, answers }, segment, unwanted, now);
    if (found !== undefined) segments.push(found);
  }
  // No answer is left that needs the secret.
  if ('all' in what) await answers.removeDamagedSecret();
  return {
    segments,
    successful: segments.reduce((sum, one) => sum + one.successful, 0),
    failed: segments.reduce((sum, one) => sum + one.failed, 0),
  };
}

/** The id of the last run, if the name is `last`; else the name. */
async function idOf(
  name: string,
  checkpoint: Pick<ForgetContext['checkpoint'], 'latestRun'>,
  { pipeline }: Config,
): Promise<string> {
  return (name === 'last' && (await checkpoint.latestRun(pipeline))?.id) || name;
}

async function unwantedOf(
  what: ForgetWhat,
  config: Config,
  { checkpoint, copies, signal, now }: Omit<ForgetContext, 'answers'>,
): Promise<Unwanted> {
  if ('keys' in what) {
    const latest = await checkpoint.latestRun(config.pipeline);
    return findRecords(config, what.keys, { latest, copies, signal });
  }
  return 'olderThan' in what ? { before: now - what.olderThan } : { all: true };
}
