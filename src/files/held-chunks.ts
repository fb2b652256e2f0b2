/**
 * The newest small chunks that are cut and not downloaded yet, in memory instead of in files: each would be written, read
 * once and removed. Nothing is lost with them, because a chunk whose file is missing is cut again from the source.
 */
/** Most bytes of a chunk that is held: twice those of a thousand usual records. */
const MAX_HELD_CHUNK_BYTES = 96 * 1024;
/**
 * The first chunks of a run are never held. A small run needs no speed, and if its source has changed, the files tell
 * which record differs.
 */
const FIRST_HELD = 21;
/** Most bytes of all held chunks together. */
const MAX_HELD_BYTES = 4 * 1024 * 1024;

/** Whether a chunk is held. */
export function isHeld(number: number, size: number): boolean {
  return number >= FIRST_HELD && size <= MAX_HELD_CHUNK_BYTES;
}

export interface HeldChunk {
  readonly sha256: string;
  readonly content: Buffer;
}

export interface HeldChunks {
  get(number: number): HeldChunk | undefined;
  /** @returns the oldest chunks, which are no longer held because there is no room for them. */
  add(number: number, chunk: HeldChunk): readonly (readonly [number: number, chunk: HeldChunk])[];
  /** @returns whether it was held. */
  delete(number: number): boolean;
}

export function createHeldChunks(maxBytes = MAX_HELD_BYTES): HeldChunks {
  const held = new Map<number, HeldChunk>();
  let bytes = 0;
  const remove = (number: number): HeldChunk | undefined => {
    const chunk = held.get(number);
    held.delete(number);
    bytes -= chunk?.content.length ?? 0;
    return chunk;
  };
  return {
    get: (number) => held.get(number),
    add: (number, chunk) => {
      remove(number);
      held.set(number, chunk);
      bytes += chunk.content.length;
      const dropped: (readonly [number, HeldChunk])[] = [];
      for (const oldest of held) {
        if (bytes <= maxBytes) break;
        remove(oldest[0]);
        dropped.push(oldest);
      }
      return dropped;
    },
    delete: (number) => remove(number) !== undefined,
  };
}
