/**
 * Chunks that need a person's help: ambiguous chunks, which the service may have accepted, and chunks whose folio is
 * lost or was given up. `foliopipe adopt` binds a folio that was found at the service to such a chunk.
 */
import type { CheckpointReader } from '../checkpoint/checkpoint.js';
import type { Tally } from '../checkpoint/state.js';
import { eachChunk } from '../checkpoint/walk-run.js';
import { countOf } from '../quantities.js';
import { quoteForShell } from '../text.js';

/** A chunk that is ambiguous, or was given up because it was ambiguous. */
export interface Adoptable {
  readonly chunk: number;
  /** The file of its newest ambiguous attempt, to look for at the service. */
  readonly fileName: string;
}

/**
 * The first adoptable chunks of a run, by number.
 * @param limit the most to return.
 */
export async function findAdoptable(
  checkpoint: Pick<CheckpointReader, 'chunksIn' | 'attempts'>,
  run: string,
  limit: number,
): Promise<readonly Adoptable[]> {
  const found: Adoptable[] = [];
  for await (const { number, cause } of eachChunk(checkpoint, run, ['ambiguous', 'unprocessed'])) {
    if (found.length === limit) break;
    if (cause !== null && cause !== 'AMBIGUOUS_HELD') continue;
    const fileName = await ambiguousFile(checkpoint, run, number);
    if (fileName !== undefined) found.push({ chunk: number, fileName });
  }
  return found;
}

/**
 * Hints for the first adoptable chunks of a run, a line for each, and the number of the others; empty if there are
 * none.
 */
export async function adoptHints(
  checkpoint: Pick<CheckpointReader, 'chunksIn' | 'attempts'>,
  run: string,
): Promise<string> {
  const found = await findAdoptable(checkpoint, run, Number.POSITIVE_INFINITY);
  const hints = found.slice(0, maxHints).map((one) => adoptHint(run, one));
  const more = found.length - hints.length;
  return [...hints, ...(more > 0 ? [`and ${more} more: foliopipe status names them`] : [])].join(';\n');
}

const maxHints = 3;

/** The file of a chunk's newest ambiguous attempt. */
export async function ambiguousFile(
  checkpoint: Pick<CheckpointReader, 'attempts'>,
  run: string,
  chunk: number,
): Promise<string | undefined> {
  const attempts = await checkpoint.attempts(run, chunk);
  return attempts.findLast(({ state }) => state === 'ambiguous')?.fileName;
}

/** Names the file to look for and the command to type. The text has no capital and no full stop. */
export function adoptHint(run: string, { chunk, fileName }: Adoptable): string {
  return `if the service lists the file ${fileName}, bind it: ${adoptCommand(run, chunk, 'FOLIO')}`;
}

/** The command that binds a folio to a chunk. Quotes the folio, because it is text of the service. */
export function adoptCommand(run: string, chunk: number | string, folio: string): string {
  return `foliopipe adopt --run ${run} --chunk ${chunk} ${quoteForShell(folio)}`;
}

/** A chunk that was given up because the service no longer knows its folio, or by a person. */
export interface FolioGivenUp {
  readonly chunk: number;
  readonly folio: string;
  readonly records: number;
  /** 0, or the round in which its failed records were sent again; those keep their earlier answer. */
  readonly round: number;
}

/**
 * The first folios of a run that were given up for a cause, by chunk number.
 * @param limit the most to return.
 */
export async function findFoliosGivenUp(
  checkpoint: Pick<CheckpointReader, 'chunksIn'>,
  run: string,
  why: 'FOLIO_LOST' | 'FOLIO_ABANDONED',
  limit: number,
): Promise<readonly FolioGivenUp[]> {
  const found: FolioGivenUp[] = [];
  for await (const { number, folio, records, round, cause } of eachChunk(checkpoint, run, ['unprocessed'])) {
    if (found.length === limit) break;
    if (cause === why && folio !== null) found.push({ chunk: number, folio, records, round });
  }
  return found;
}

/**
 * The flag with which `run`, `submit` and `collect` go on with a sample: without it, they would begin, or go on with, the
 * whole source.
 * @param sample the most records of the run; null if it has the whole source.
 */
export function limitFlag(sample: number | null): string {
  return sample === null ? '' : ` --limit ${sample}`;
}

/** Says what a lost folio means for its records, and which command helps. */
function lostFolioText(run: string, lost: FolioGivenUp, sample: number | null): string {
  const { chunk, folio } = lost;
  return `chunk ${chunk}: folio ${folio} is lost (${outcomeText(lost)}); the next foliopipe run${limitFlag(sample)} asks for it again; or ${adoptCommand(run, chunk, 'FOLIO')}`;
}

/** Says what a folio that a person has given up means for its records, and how to bind it again. */
function abandonedText(run: string, abandoned: FolioGivenUp): string {
  const { chunk, folio } = abandoned;
  return `chunk ${chunk}: folio ${folio} was given up by hand (${outcomeText(abandoned)}); once the service has finished or corrected it, bind it again: ${adoptCommand(run, chunk, folio)}`;
}

/** What a person can do about chunks without an answer; names the first ones of the run. */
export function helpTexts({
  run,
  sample,
  adoptable,
  lost,
  abandoned,
}: {
  readonly run: string;
  readonly sample: number | null;
  readonly adoptable: readonly Adoptable[];
  readonly lost: readonly FolioGivenUp[];
  readonly abandoned: readonly FolioGivenUp[];
}): readonly string[] {
  return [
    ...adoptable.map((one) => `chunk ${one.chunk} was possibly accepted; ${adoptHint(run, one)}`),
    ...lost.map((one) => lostFolioText(run, one, sample)),
    ...abandoned.map((one) => abandonedText(run, one)),
  ];
}

/** What becomes of the records of a folio that is given up. Those of a round have failed before. */
export function outcomeText({ records, round }: Pick<FolioGivenUp, 'records' | 'round'>): string {
  return `${countOf(records, 'record')} ${round === 0 ? 'UNPROCESSED' : 'FAILED as before'}`;
}

/** The command that gives up a folio that is never finished. */
export function abandonCommand(run: string, chunk: number): string {
  return `foliopipe abandon --run ${run} --chunk ${chunk}`;
}

/**
 * Whether a run has chunks that were, or may have been, paid for: `--new` may pay for them again, so it needs `--yes`.
 */
function hasPaidChunks(chunks: Tally['chunks']): boolean {
  const { uploading, ambiguous, submitted, finished, downloaded, unprocessed } = chunks;
  return uploading + ambiguous + submitted + finished + downloaded + unprocessed > 0;
}

/**
 * The command that begins a new run in place of an unfinished one.
 * @param hasPaid whether that may give up what is paid.
 */
export function newRunCommand(hasPaid: boolean): string {
  return `foliopipe run --new${hasPaid ? ' --yes' : ''}`;
}

/** The same for a run. The checkpoint says what it has paid for. */
export async function newRunCommandFor(
  checkpoint: Pick<CheckpointReader, 'tally'>,
  run: string,
): Promise<string> {
  return newRunCommand(hasPaidChunks((await checkpoint.tally(run)).chunks));
}
