/** Which records a planned run would send, without writing anything into the state folder. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { CheckpointReader, Run } from '../../checkpoint/checkpoint.js';
import { type Saved, savedBy } from '../../report/origins.js';
import type { AnswerStore, ChosenAnswers } from '../../reuse/answer-store.js';
import { createLocalAnswerStore } from '../../reuse/local-answer-store.js';
import type { Choice, Source } from '../../types.js';
import { type ChooseContext, isMiss, lookUp, mayChoose } from '../open/choose-records.js';
import { runsWithoutSegment } from '../open/missing-segments.js';
import type { RunOptions } from '../run-options.js';

/** What a run would not send, because the answer is known. */
export interface PlannedReuse extends Pick<Choice, 'reused' | 'duplicates' | 'sent' | 'outdated'> {
  /** Records that would be sent although an equal one comes earlier; `upload.duplicates: once` sends them once. */
  readonly equal: number;
  /**
   * Earlier runs whose answers are not in the store yet: a run adds them first where it can, and may send fewer
   * records.
   */
  readonly unkept: number;
  readonly saved: Saved;
  /** The error with which the run would end before it sends anything, because more than `reuse.maxMiss` is new. */
  readonly stops: 'REUSE_MISS' | null;
}

export interface PlannedRecords {
  /** Null if every record is sent. */
  readonly reuse: PlannedReuse | null;
  /** The records to send; undefined: all. */
  readonly toSend: ChosenAnswers['toSend'] | undefined;
}

interface PlanContext extends Omit<ChooseContext, 'checkpoint'> {
  readonly checkpoint: CheckpointReader | undefined;
  /** Epoch milliseconds. */
  readonly now: number;
}

/**
 * Calls `use` with the records that would be sent.
 * @param begun the run that would go on with what it has chosen; undefined for a new run.
 */
export async function withPlannedRecords<T>(
  context: PlanContext,
  options: Pick<RunOptions, 'answers' | 'reuse' | 'yes' | 'limit'>,
  source: Source,
  begun: Run | undefined,
  use: (records: PlannedRecords) => Promise<T>,
): Promise<T> {
  const { config } = context;
  if (begun !== undefined) {
    if (begun.choice === null) return use(everyRecord);
    const { id, choice } = begun;
    const chosen = await context.answers.openChoice(id, choice);
    try {
      return await use({ reuse: reuseOf(choice, config), toSend: chosen.toSend });
    } finally {
      await chosen.close();
    }
  }
  if (!mayChoose(config)) return use(everyRecord);
  return withLookupStore(context, options, async (answers) => {
    const planned = await lookUp({ ...context, answers }, options, source, (lookup) =>
      lookup.plan({ now: context.now, ...config.reuse }),
    );
    const { choice, equal, toSend } = planned;
    const stops = (await isMiss(context, options, choice)) ? ('REUSE_MISS' as const) : null;
    const unkept = await countUnkept(context, options);
    return use({ reuse: { ...reuseOf(choice, config), equal, unkept, stops }, toSend });
  });
}

const everyRecord: PlannedRecords = { reuse: null, toSend: undefined };

function reuseOf(
  { reused, duplicates, sent, outdated }: Choice,
  { budget }: Pick<PlanContext['config'], 'budget'>,
): PlannedReuse {
  const taken = {
    reused: { records: reused.successful + reused.failed },
    duplicates: { records: duplicates },
  };
  const saved = savedBy(taken, budget);
  return { reused, duplicates, sent, outdated, equal: 0, unkept: 0, saved, stops: null };
}

async function countUnkept(
  { config, checkpoint }: PlanContext,
  { reuse, limit }: Pick<RunOptions, 'reuse' | 'limit'>,
): Promise<number> {
  if (checkpoint === undefined || config.reuse.maxAge === 0 || reuse === false) return 0;
  const unfinished = await checkpoint.unfinishedRun(config.pipeline, limit);
  return (await runsWithoutSegment(checkpoint, config, unfinished)).length;
}

/** A state without answers has no secret yet, and a plan must not make one: its look-up gets a temporary folder. */
async function withLookupStore<T>(
  { checkpoint, answers }: Pick<PlanContext, 'checkpoint' | 'answers'>,
  options: Pick<RunOptions, 'answers'>,
  use: (answers: AnswerStore) => Promise<T>,
): Promise<T> {
  const segments = (await checkpoint?.segments()) ?? [];
  if (options.answers !== undefined || segments.length > 0) return use(answers);
  const folder = await mkdtemp(join(tmpdir(), 'foliopipe-plan-'));
  try {
    return await use(createLocalAnswerStore(folder));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
