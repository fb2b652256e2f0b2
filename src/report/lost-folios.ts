/** Chunks that were given up because the service no longer knows their folio. */
import type { CheckpointReader } from '../checkpoint/checkpoint.js';
import { eachChunk } from '../checkpoint/each-chunk.js';
import { adoptCommand } from './adoptable.js';

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
