/**
 * Chunks that need a person's help: ambiguous chunks, which the service may have accepted, and chunks whose folio is
 * lost. `foliopipe adopt` binds a folio that was found at the service to such a chunk.
 */
import type { CheckpointReader } from '../checkpoint/checkpoint.js';
import { eachChunk } from '../checkpoint/walk-run.js';

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

/** Hints for the first adoptable chunks of a run, and the number of the others; an empty text if there are none. */
export async function adoptHints(
  checkpoint: Pick<CheckpointReader, 'chunksIn' | 'attempts'>,
  run: string,
): Promise<string> {
  const found = await findAdoptable(checkpoint, run, Number.POSITIVE_INFINITY);
  const hints = found.slice(0, maxHints).map((one) => adoptHint(run, one));
  const more = found.length - hints.length;
  return [...hints, ...(more > 0 ? [`and ${more} more: foliopipe status`] : [])].join('; ');
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

export function adoptCommand(run: string, chunk: number | string, folio: string): string {
  return `foliopipe adopt --run ${run} --chunk ${chunk} ${folio}`;
}

/** A chunk that was given up because the service no longer knows its folio. */
export interface LostFolio {
  readonly chunk: number;
  readonly folio: string;
  readonly records: number;
  /** 0, or the round in which its failed records were sent again; those keep their earlier answer. */
  readonly round: number;
}

/**
 * The first lost folios of a run, by chunk number.
 * @param limit the most to return.
 */
export async function findLostFolios(
  checkpoint: Pick<CheckpointReader, 'chunksIn'>,
  run: string,
  limit: number,
): Promise<readonly LostFolio[]> {
  const lost: LostFolio[] = [];
  for await (const { number, folio, records, round, cause } of eachChunk(checkpoint, run, ['unprocessed'])) {
    if (lost.length === limit) break;
    if (cause === 'FOLIO_LOST' && folio !== null) lost.push({ chunk: number, folio, records, round });
  }
  return lost;
}

/** Says what a lost folio means for its records, and which command helps. */
export function lostFolioText(run: string, { chunk, folio, records, round }: LostFolio): string {
  const some = records === 1 ? '1 record' : `${records} records`;
  const what = round === 0 ? `${some} UNPROCESSED` : `${some} FAILED as before`;
  return `chunk ${chunk}: folio ${folio} is lost (${what}); the next foliopipe run asks for it again; or ${adoptCommand(run, chunk, 'FOLIO')}`;
}
