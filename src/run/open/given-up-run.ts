/** What is lost when a new run replaces an unfinished one: what was paid for, less what later runs take. */
import type { CheckpointReader, ReplyKinds, Run } from '../../checkpoint/checkpoint.js';
import type { Night } from '../../checkpoint/night.js';
import { isOnlyMoved } from '../../config/frozen-config.js';
import type { Config } from '../../config/schema.js';
import { EMBEDDED } from '../../config/sections/service-section.js';
import { ConfigError, TroubleError } from '../../errors.js';
import { countOf, formatAmount, formatCount, formatDuration } from '../../quantities.js';
import { abandonCommand, newRunCommand } from '../../report/adoptable.js';
import { paidRecords } from '../../report/cost-figures.js';
import { priceOf } from '../../report/origins.js';
import { presentTexts } from '../../text.js';
import type { Source } from '../../types.js';
import type { RunOptions } from '../run-options.js';
import { hasSentSame } from './missing-segments.js';

/** What is lost with a run that is given up. */
export interface GivenUpRun {
  readonly run: string;
  /** Records that were, or may have been, paid for. */
  readonly paid: number;
  /**
   * The newest whole publication of a run that is open again, such as by `retry`, and what was paid for until then
   * without its UNPROCESSED records, which an adopted folio may still answer.
   */
  readonly published: Pick<Night, 'publication' | 'paid'> | null;
  /** How many of these have no answer that a later run takes, and their price; null without `budget.pricePerRecord`. */
  readonly inVain: { readonly records: number; readonly amount: number | null; readonly currency: string };
  /** Folios whose parts are not all downloaded. */
  readonly open: Sum;
  /** Uploads that may have been accepted. */
  readonly ambiguous: Sum;
  /** Chunks whose answers are downloaded, and in no complete output. */
  readonly collected: Sum;
  /** Why later runs buy the collected answers again; null if those runs take them. */
  readonly boughtAgain: string | null;
  /** Whether later runs take the collected answers only if the source is unchanged. */
  readonly onlyIfUnchanged: boolean;
  /** How long the collected answers stay on the disk, in ms (`retention.results`). */
  readonly keptFor: number;
  /** Whether the new run needs `--yes`, because records are paid for in vain. */
  readonly needsYes: boolean;
}

interface Sum {
  readonly chunks: number;
  readonly records: number;
}

interface GivenUpContext {
  readonly config: Config;
  readonly checkpoint: Pick<CheckpointReader, 'tally' | 'spending' | 'replyKinds' | 'nightOf'>;
}

/**
 * @param isSourceChanged whether the run's source has other content now; null if that is not known yet.
 * @returns undefined if nothing was paid for: the run has sent nothing, or a local service has answered.
 */
export async function findGivenUp(
  { config, checkpoint }: GivenUpContext,
  { reuse }: Pick<RunOptions, 'reuse'>,
  run: Run,
  isSourceChanged: boolean | null,
): Promise<GivenUpRun | undefined> {
  const { pricePerRecord, currency } = config.budget;
  const { chunks, records } = await checkpoint.tally(run.id);
  const paid = await paidRecords(checkpoint, run, config.budget);
  const kinds = await checkpoint.replyKinds(run.id);
  if (paid === 0 || isFree(run, kinds)) return undefined;
  const open = { chunks: chunks.submitted + chunks.finished, records: records.submitted + records.finished };
  const ambiguous = {
    chunks: chunks.uploading + chunks.ambiguous,
    records: records.uploading + records.ambiguous,
  };
  const collected = { chunks: chunks.downloaded, records: records.downloaded };
  const boughtAgain = kinds.mixed
    ? 'a local service gave some of them'
    : whyBoughtAgain(config, reuse, run, isSourceChanged);
  const night = await checkpoint.nightOf(run.id);
  const published = night === undefined ? null : publishedOf(night);
  const lost = paidInVain({ paid, published, open }, boughtAgain === null ? collected.records : 0);
  return {
    run: run.id,
    paid,
    published,
    inVain: { records: lost, amount: priceOf(lost, pricePerRecord), currency },
    open,
    ambiguous,
    collected,
    boughtAgain,
    onlyIfUnchanged: run.choice === null && isSourceChanged === null,
    keptFor: config.retention.results,
    needsYes: lost > 0,
  };
}

function publishedOf({ publication, paid, origins }: Night): GivenUpRun['published'] {
  return { publication, paid: paid - origins.sent.unprocessed };
}

/** At least what is open. @param kept how many answers later runs take. */
function paidInVain(
  { paid, published, open }: Pick<GivenUpRun, 'paid' | 'published' | 'open'>,
  kept: number,
): number {
  return Math.max(paid - Math.max(kept, published?.paid ?? 0), open.records);
}

/** Whether a run has sent nothing that was, or may have been, paid for. */
export async function hasPaidNothing({ config, checkpoint }: GivenUpContext, run: Run): Promise<boolean> {
  return (await paidRecords(checkpoint, run, config.budget)) === 0;
}

/**
 * Whether a run began at another address and has paid nothing there, such as at a mistyped one: a new run takes its
 * place.
 * @param frozen the current values.
 */
export async function isMovedUnpaid(
  context: GivenUpContext,
  run: Run,
  frozen: Run['frozen'],
): Promise<boolean> {
  return run.state === 'open' && isOnlyMoved(run.frozen, frozen) && hasPaidNothing(context, run);
}

/** Whether a local service has answered, and nothing else. */
function isFree(run: Run, { local, other, mixed }: ReplyKinds): boolean {
  return run.service.startsWith(EMBEDDED) || (local && !other && !mixed);
}

function whyBoughtAgain(
  config: Config,
  reuse: RunOptions['reuse'],
  run: Run,
  isSourceChanged: boolean | null,
): string | null {
  if (config.reuse.maxAge === 0) return 'reuse.maxAge is 0';
  if (reuse === false) return '--no-reuse';
  if (!hasSentSame(run, config)) return 'they are of another service or of other columns';
  if ((run.choice?.epoch ?? '') !== config.reuse.epoch) return 'they are of another reuse.epoch';
  // Only a run that could reuse answers keeps the records that it has sent.
  if (run.choice === null && isSourceChanged)
    return 'the run began without reuse, and its source has changed';
  return null;
}

/**
 * @throws ConfigError `RUN_UNFINISHED_PAID` when records are paid for in vain and `--yes` was not given.
 */
export function checkGivenUp(givenUp: GivenUpRun | undefined, { yes }: Pick<RunOptions, 'yes'>): void {
  if (givenUp === undefined || !givenUp.needsYes || yes) return;
  const { run, paid, inVain, open, ambiguous, collected } = givenUp;
  throw new ConfigError(
    'RUN_UNFINISHED_PAID',
    `run ${run} is unfinished, and --new would give it up: ${givenUpText(givenUp)}`,
    {
      hint: `nothing was sent; to finish run ${run}: foliopipe run (without --new); to give it up anyway, add --yes`,
      facts: {
        ...{ run, paid, inVain: inVain.records, folios: open.chunks, ambiguous: ambiguous.chunks },
        collected: collected.chunks,
      },
    },
  );
}

/**
 * Checks once more when a segment was made of the run's answers: those that could not be put into it are bought again,
 * for example because the service now returns other columns.
 * @param lost the runs whose answers could not all be put into a segment.
 * @returns what is lost.
 * @throws ConfigError `RUN_UNFINISHED_PAID`.
 */
export async function checkKept(
  context: Pick<GivenUpContext, 'config'> & { readonly checkpoint: Pick<CheckpointReader, 'segments'> },
  givenUp: GivenUpRun | undefined,
  lost: readonly string[],
  options: Pick<RunOptions, 'yes'>,
): Promise<GivenUpRun | undefined> {
  if (givenUp === undefined || givenUp.boughtAgain !== null || givenUp.collected.chunks === 0) return givenUp;
  if (!lost.includes(givenUp.run)) return givenUp;
  const segment = (await context.checkpoint.segments()).find(({ run }) => run === givenUp.run);
  const kept = segment === undefined ? 0 : segment.successful + segment.failed;
  const records = paidInVain(givenUp, kept);
  const { pricePerRecord, currency } = context.config.budget;
  const found = {
    ...givenUp,
    inVain: { records, amount: priceOf(records, pricePerRecord), currency },
    boughtAgain: `${kept > 0 ? 'some of them' : 'they'} cannot be read, or joined to their records`,
    needsYes: records > 0,
  };
  checkGivenUp(found, options);
  return found;
}

/**
 * For a run that a changed source ends (`source.onChange`), after its folios were collected. An upload that may have been
 * accepted is no reason to stop: waiting does not change it.
 * @throws TroubleError `FOLIOS_TIMED_OUT` when folios are open and `--yes` was not given.
 */
export async function checkSuperseded(
  checkpoint: Pick<CheckpointReader, 'chunksIn'>,
  givenUp: GivenUpRun | undefined,
  { yes }: Pick<RunOptions, 'yes'>,
): Promise<void> {
  if (givenUp === undefined || givenUp.open.chunks === 0 || yes) return;
  const { run, open } = givenUp;
  const [stuck] = await checkpoint.chunksIn(run, ['submitted', 'finished'], 0, 1);
  throw new TroubleError(
    'FOLIOS_TIMED_OUT',
    `run ${run}: ${countOf(open.chunks, 'folio')} not finished within poll.timeout, and its source has changed; superseding it now would give up what is open: ${givenUpText(givenUp)}`,
    {
      hint: `run the same command again to wait for them; nothing is paid again; to end without the first: ${abandonCommand(run, stuck!.number)}; to supersede the run anyway: foliopipe run --yes`,
      facts: { run, submitted: open.chunks },
    },
  );
}

/** How to go on from an unfinished run whose source has changed, as commands that work as they are. */
export function waysFromChanged(
  run: string,
  givenUp: GivenUpRun | undefined,
  { files }: Pick<Source, 'files'>,
): string {
  const isFile = files[0]?.name === undefined;
  const back = `${isFile ? 'put the old file back' : 'give the old content again'} to finish run ${run}`;
  if (givenUp === undefined)
    return `${back}; or start a new run: ${newRunCommand(false)}; nothing was paid for in run ${run}`;
  const { boughtAgain } = givenUp;
  const use = boughtAgain === null ? 'takes their answers' : `pays for their records again: ${boughtAgain}`;
  return `${back}; or foliopipe run --set source.onChange=supersede fetches the open folios, and then starts a new run, which ${use}; or ${newRunCommand(givenUp.needsYes)} gives up what is open: ${givenUpText(givenUp)}`;
}

/** What was paid in vain and what is kept. The text has no capital and no full stop. */
export function givenUpText(givenUp: GivenUpRun): string {
  const { inVain, published, open, ambiguous, collected } = givenUp;
  const price = inVain.amount === null ? '' : ` (${formatAmount(inVain.amount)} ${inVain.currency})`;
  const upTo = ambiguous.chunks > 0 ? 'up to ' : '';
  const parts = presentTexts([
    published !== null && `what was paid for before is in publication ${published.publication}`,
    open.chunks > 0 &&
      `${countOf(open.chunks, 'folio')} (${countOf(open.records, 'record')}) open at the service`,
    ambiguous.chunks > 0 &&
      `${countOf(ambiguous.chunks, 'upload')} (${countOf(ambiguous.records, 'record')}) that may have been accepted`,
    collected.chunks > 0 && collectedText(givenUp),
  ]);
  const lost =
    inVain.records === 0
      ? 'nothing is paid in vain'
      : `${upTo}${formatCount(inVain.records)} of the ${countOf(givenUp.paid, 'record')} paid for are paid in vain${price}`;
  return [lost, ...parts].join('; ');
}

function collectedText({
  collected,
  boughtAgain,
  onlyIfUnchanged,
  keptFor,
}: Pick<GivenUpRun, 'collected' | 'boughtAgain' | 'onlyIfUnchanged' | 'keptFor'>): string {
  const answers = `the answers of ${countOf(collected.chunks, 'chunk')} (${countOf(collected.records, 'record')})`;
  if (boughtAgain === null) {
    const when = onlyIfUnchanged ? ' if the source is unchanged' : '';
    return `${answers} are here, and later runs take them${when} (reuse.maxAge)`;
  }
  return `${answers} stay on the disk for ${formatDuration(keptFor)} (retention.results), but are bought again: ${boughtAgain}`;
}
