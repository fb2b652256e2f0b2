/** Whether nothing more comes for a chunk: its results are here, or it was given up or refused. */
import type { ChunkRow } from '../checkpoint/checkpoint.js';

export function isAnswered({ state }: Pick<ChunkRow, 'state'>): boolean {
  return state === 'downloaded' || state === 'unprocessed' || state === 'refused';
}
