/** Chunks that the service may have accepted without our knowing, and how a person who finds one binds its folio. */
import type { CheckpointReader } from '../checkpoint/checkpoint.js';
import { eachChunk } from '../checkpoint/walk-run.js';

/** A chunk that is ambiguous, or given up because it was. */
export interface Adoptable {
  readonly chunk: number;
  /** Of its newest ambiguous attempt: what to look for at the service's own console. */
  readonly fileName: string;
}

/** The first of a run, by number. @param limit at most so many. */
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

/** What to look for and what to type of the first of a run, and how many there are beyond them; empty without any. */
export async function adoptHints(
  checkpoint: Pick<CheckpointReader, 'chunksIn' | 'attempts'>,
  run: string,
): Promise<string> {
  const found = await findAdoptable(checkpoint, run, Number.POSITIVE_INFINITY);
  const hints = found.slice(0, hintsAtMost).map((one) => adoptHint(run, one));
  const more = found.length - hints.length;
  return [...hints, ...(more > 0 ? [`and ${more} more: foliopipe status`] : [])].join('; ');
}

const hintsAtMost = 3;

/** The file of a chunk's newest ambiguous attempt. */
export async function ambiguousFile(
  checkpoint: Pick<CheckpointReader, 'attempts'>,
  run: string,
  chunk: number,
): Promise<string | undefined> {
  const attempts = await checkpoint.attempts(run, chunk);
  return attempts.findLast(({ state }) => state === 'ambiguous')?.fileName;
}

/** What to look for and what to type, as half a sentence. */
export function adoptHint(run: string, { chunk, fileName }: Adoptable): string {
  return `if the service lists the file ${fileName}, bind it: ${adoptCommand(run, chunk, 'FOLIO')}`;
}

export function adoptCommand(run: string, chunk: number | string, folio: string): string {
  return `foliopipe adopt --run ${run} --chunk ${chunk} ${folio}`;
}

/** Chunks that were given up because the service no longer knows their folio. */
export interface LostFolio {
  readonly chunk: number;
  readonly folio: string;
  readonly records: number;
  /** 0, or the round of failed records that it was sent in: these keep the answer that they had. */
  readonly round: number;
}

/** The first of a run, by number. @param limit at most so many. */
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

/** What it comes to, and what to type. */
export function lostText(run: string, { chunk, folio, records, round }: LostFolio): string {
  const some = records === 1 ? '1 record' : `${records} records`;
  const what = round === 0 ? `${some} UNPROCESSED` : `${some} FAILED as before`;
  return `chunk ${chunk}: folio ${folio} is lost (${what}); the next foliopipe run asks for it again; or ${adoptCommand(run, chunk, 'FOLIO')}`;
}
