/**
 * Decides which records of a new run take answers that were bought earlier (rule "Reuse is decided once",
 * docs/architecture.md#reuse-is-decided-once).
 */
import type { CheckpointReader, Run } from '../../checkpoint/checkpoint.js';
import type { Config } from '../../config/schema.js';
import { ConfigError, GuardError } from '../../errors.js';
import type { Logger } from '../../logger.js';
import { countOf, formatAmount, formatCount, formatPercent, formatShare } from '../../quantities.js';
import { priceOf } from '../../report/origins.js';
import type { LayoutSource } from '../../results/output-layout.js';
import type { AnswerLookup, AnswerStore } from '../../reuse/answer-store.js';
import type { RecordWatch } from '../../source/scan-file.js';
import { createUploadLayout } from '../../stages/chunk/cut-chunks.js';
import { firstPosition, lastFile, recordsFrom, watchFiles } from '../../stages/read-source.js';
import type { Choice, Segment, Source } from '../../types.js';
import { isOfService, isRehearsalElsewhere } from '../configured-service.js';
import type { RunOptions } from '../run-options.js';
import { areSent, makeMissingSegments, remakeSegment, type SegmentContext } from './missing-segments.js';

export interface ChooseContext {
  readonly config: Config;
  readonly answers: AnswerStore;
  /** Undefined if there is no state yet. */
  readonly checkpoint: Pick<CheckpointReader, 'segments' | 'runs' | 'runHeads'> | undefined;
  readonly signal: AbortSignal;
}

/** Looks up the records of a source while it is checked. */
interface ChoiceWatch extends RecordWatch {
  /** The earlier runs whose answers cannot be reused, or not all of them. */
  readonly lost: readonly string[];
  /** The look-up of all records; undefined if the check did not have to read them. */
  lookup(): AnswerLookup | undefined;
  close(): Promise<void>;
}

/**
 * Answers of earlier runs that are in no segment are put into one first.
 * @param unfinished the run that a new one would replace.
 * @returns undefined if every record is sent and no answer is kept.
 */
export async function watchRecords(
  context: SegmentContext,
  options: Pick<RunOptions, 'reuse'>,
  unfinished: Run | undefined,
): Promise<ChoiceWatch | undefined> {
  const { config } = context;
  if (!mayChoose(config)) return undefined;
  const lost = config.reuse.maxAge > 0 ? await makeMissingSegments(context, unfinished) : [];
  let lookup: AnswerLookup | undefined;
  return {
    lost,
    begin: async (columns, delimiter) => {
      const files = [{ dialect: { delimiter } }];
      // A damaged segment is an error only if a new run begins: it is found again then.
      lookup = await openLookup(context, options, { columns, files }).catch((error: unknown) => {
        if (error instanceof ConfigError) return undefined;
        throw error;
      });
    },
    add: async (batch) => lookup?.add(batch),
    lookup: () => lookup,
    close: async () => lookup?.close(),
  };
}

/**
 * Chooses for a run that begins, and keeps the choice under the run's id. A damaged segment is made again where its
 * results are still there, and no answer was taken out of it.
 * @param now epoch milliseconds.
 * @param watched the look-up of all records, if the check of the source has read them.
 * @returns null if every record is sent and no answer is kept.
 * @throws ConfigError when the store of answers is damaged or incomplete: a silent miss would pay again; SourceError when
 *   the source has changed since it was checked.
 */
export async function chooseForRun(
  context: SegmentContext,
  options: Pick<RunOptions, 'reuse'>,
  source: Source,
  run: string,
  now: number,
  watched: AnswerLookup | undefined,
): Promise<Choice | null> {
  const { config, checkpoint } = context;
  if (!mayChoose(config)) return null;
  const decide = (lookup: AnswerLookup) => lookup.decide({ now, ...config.reuse }, run);
  for (const repaired = new Set<string>(); ; ) {
    try {
      if (watched !== undefined && repaired.size === 0) return await decide(watched);
      return await lookUp(context, options, source, decide);
    } catch (error) {
      const id = error instanceof ConfigError ? error.facts.segment : undefined;
      const segment = (await checkpoint.segments()).find((one) => one.id === id);
      // Another process has just pruned or forgotten the segment.
      const isGone = typeof id === 'string' && segment === undefined && !repaired.has(id);
      if (isGone) {
        repaired.add(id);
        continue;
      }
      const paidBy = segment && (await checkpoint.run(segment.run));
      if (segment === undefined || paidBy === undefined || repaired.has(segment.run)) throw error;
      repaired.add(segment.run);
      const mayRemake = paidBy.prunedAt === null && segment.takenOut === undefined;
      if (!mayRemake || !(await remakeSegment(context, paidBy, segment))) throw error;
    }
  }
}

/** Whether runs of the config keep their answers for later runs, or choose which records they send. */
export function mayChoose({ reuse, upload }: Pick<Config, 'reuse' | 'upload'>): boolean {
  return reuse.maxAge > 0 || upload.duplicates === 'once';
}

/**
 * Looks up every record of the source, once more if the source was touched meanwhile: other records may have been read.
 * @param decide what is done with the look-up.
 */
export async function lookUp<T>(
  context: ChooseContext,
  options: Pick<RunOptions, 'reuse'>,
  source: Source,
  decide: (lookup: AnswerLookup) => Promise<T>,
): Promise<T> {
  const run = { source, ...context };
  for (;;) {
    const first = firstPosition(source);
    const isTouched = watchFiles(run);
    const lookup = await openLookup(context, options, source);
    try {
      for await (const batch of recordsFrom(run, first)) await lookup.add(batch);
      if (!(await isTouched(first.position, lastFile(source)))) return await decide(lookup);
    } finally {
      await lookup.close();
    }
  }
}

async function openLookup(
  { config, answers, checkpoint }: Omit<ChooseContext, 'signal'>,
  options: Pick<RunOptions, 'reuse'>,
  source: LayoutSource,
): Promise<AnswerLookup> {
  const { reuse, upload } = config;
  const { fields, delimiter } = createUploadLayout(source, upload);
  const isReusing = reuse.maxAge > 0 && options.reuse !== false;
  const all = (await checkpoint?.segments()) ?? [];
  const filled = all.filter(({ successful, failed }) => successful + failed > 0);
  const usable = filled.filter((segment) => isReusing && isUsable(segment, config));
  // The first segment that has an answer decides. Answers of other epochs are not taken: new ones are compared with them.
  const segments = [
    ...usable.filter(({ epoch }) => epoch === reuse.epoch),
    ...usable.filter(({ epoch }) => epoch !== reuse.epoch),
  ];
  // So many records failed in a withheld run that its failures are not reused: they would withhold the next nights too.
  const runs = (await checkpoint?.runHeads()) ?? [];
  const withheldRuns = new Set(runs.filter(({ state }) => state === 'withheld').map(({ id }) => id));
  const ofWithheld = segments.filter(({ run }) => withheldRuns.has(run));
  return answers.openLookup({
    fields,
    delimiter,
    sentColumns: Object.keys(upload.columns),
    segments,
    withheld: new Set(ofWithheld.map(({ id }) => id)),
    duplicates: upload.duplicates,
    skipsBlank: upload.skipBlank,
  });
}

/** Whether the answers of a segment may be taken: the same service has answered the same columns. */
export function isUsable(segment: Segment, config: Config): boolean {
  return isOfService(segment, config) && areSent(segment.sentColumns, config);
}

/**
 * Stops a run that would send many more records than a usual night, before it pays: a changed mapping, a lost store or
 * a raised epoch buys everything again.
 * @throws GuardError `REUSE_MISS`.
 */
export async function checkMiss(
  context: Pick<ChooseContext, 'config' | 'checkpoint'>,
  options: Pick<RunOptions, 'reuse' | 'yes' | 'limit'>,
  choice: Choice,
): Promise<void> {
  if (!(await isMiss(context, options, choice))) return;
  const { sent, outdated } = choice;
  const { reuse, budget } = context.config;
  const records = recordsOf(choice);
  const share = formatShare(sent, records);
  const price = priceOf(sent, budget.pricePerRecord);
  const cost = price === null ? '' : ` for ${formatAmount(price)} ${budget.currency}`;
  const outdatedText =
    outdated === 0
      ? ''
      : `; ${formatCount(outdated)} of them have one that is too old or of another reuse.epoch`;
  // A clock that is a year ahead makes all answers too old.
  const clock = outdated === 0 ? '' : ', the clock of this machine (date)';
  throw new GuardError(
    'REUSE_MISS',
    `${formatCount(sent)} of ${formatCount(records)} records (${share}) have no answer that can be reused, and reuse.maxMiss is ${formatPercent(reuse.maxMiss, 3)}${outdatedText}`,
    {
      hint: `nothing was sent; to buy them${cost}, add --yes; else check what has changed: the sent columns and how the source writes them, reuse.epoch, reuse.maxAge${clock}, service.baseUrl, service.name (foliopipe reuse show)`,
      facts: { sent, records, maxMiss: reuse.maxMiss, outdated },
    },
  );
}

/** Whether `checkMiss` stops the run. A sample is never stopped: its limit says what it may cost. */
export async function isMiss(
  { config, checkpoint }: Pick<ChooseContext, 'config' | 'checkpoint'>,
  options: Pick<RunOptions, 'reuse' | 'yes' | 'limit'>,
  choice: Choice,
): Promise<boolean> {
  const { pipeline, reuse } = config;
  if (reuse.maxAge === 0 || options.reuse === false || options.yes) return false;
  if (options.limit !== undefined) return false;
  if (choice.sent === 0 || choice.sent / recordsOf(choice) <= reuse.maxMiss) return false;
  const runs = (await checkpoint?.runs(pipeline)) ?? [];
  return runs.some(
    (run) => run.state === 'done' && run.source.limit === undefined && !isRehearsalElsewhere(config, run),
  );
}

function recordsOf({ sent, reused, duplicates }: Choice): number {
  return sent + reused.successful + reused.failed + duplicates;
}

/** Logs how many records are sent and how many are not. */
export function logChoice(logger: Logger, run: string, choice: Choice): void {
  const { sent, reused, duplicates, outdated } = choice;
  const taken = reused.successful + reused.failed;
  logger.info(
    { run, sent, reused: taken, duplicates, outdated },
    `${countOf(taken, 'record')} ${taken === 1 ? 'takes the answer' : 'take answers'} of earlier runs, ${formatCount(duplicates)} those of equal records; ${formatCount(sent)} to send`,
  );
}
