/**
 * Fetches several parts of a folio at the same time. Invariant: when it ends, none of them is being fetched any more, also
 * after an error: the chunk may be given up next.
 */
import type { ChunkRow } from '../../checkpoint/checkpoint.js';
import { mapConcurrent } from '../../streams/map-concurrent.js';
import { createPermits, type Permits } from '../../streams/permits.js';
import type { Bytes, PartReference, StoredPart } from '../../types.js';
import { createFolioBytes } from './folio-limits.js';
import { fetchPart } from './folio-parts.js';

type FetchPartRun = Parameters<typeof fetchPart>[0];

/** What else the parts are fetched by. */
export interface FetchTogether {
  /** The bytes of the folio's other parts, which are here already. */
  readonly held: Bytes;
  /** A permit for each part that is fetched at the same time, for all chunks. Without it: one part after the other. */
  readonly slots?: Permits | undefined;
  /** Once aborted, one answer that the folio or a part is not known is final. */
  readonly until?: AbortSignal | undefined;
  /** Called with each part as soon as its file is on the disk. */
  readonly store?: (stored: StoredPart) => Promise<void>;
}

/**
 * @returns the parts as stored, in the order given.
 * @throws the first error of `fetchPart` or `store`; the other downloads are then ended.
 */
export async function fetchTogether(
  run: FetchPartRun & { readonly signal: AbortSignal },
  chunk: ChunkRow,
  parts: readonly PartReference[],
  { held, slots, until, store }: FetchTogether,
): Promise<StoredPart[]> {
  const { downloads } = run.config.concurrency;
  const permits = slots ?? createPermits(1);
  const bytes = createFolioBytes(chunk, held);
  const controller = new AbortController();
  const signal = parts.length > 1 ? AbortSignal.any([run.signal, controller.signal]) : run.signal;
  const stored: StoredPart[] = [];
  const fetchOne = async ([at, part]: readonly [number, PartReference]): Promise<void> => {
    const holder = `${chunk.number} ${part.fileStatus} ${part.part}`;
    await permits.acquire(holder, signal);
    try {
      const one = await fetchPart(run, chunk, part, bytes, signal, until);
      await store?.(one);
      stored[at] = one;
    } finally {
      await permits.release(holder);
    }
  };
  for await (const _ of mapConcurrent(entriesOf(parts), downloads, fetchOne, controller));
  return stored;
}

async function* entriesOf<T>(items: readonly T[]): AsyncGenerator<readonly [number, T]> {
  yield* items.entries();
}
