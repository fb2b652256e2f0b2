/**
 * Uses a chunk's stored parts. What is damaged on the disk, or does not match what was sent, is fetched once more
 * (law 9); what no fetch can cure is an error at once. Invariant: nothing that is stored and readable is lost by it.
 */
import type { Checkpoint, ChunkRow } from '../../checkpoint/checkpoint.js';
import { FolioLostError, MismatchError, UntrustedError } from '../../errors.js';
import { DamagedPartError } from '../../files/run-files.js';
import { askProvider } from '../../results/mismatch-hints.js';
import type { StoredPart } from '../../types.js';
import { type GiveUpNeeds, giveUpLost } from '../track/lost-folios.js';
import type { PartReplacement } from './refetch-parts.js';

export type HealingNeeds = GiveUpNeeds & { readonly checkpoint: Pick<Checkpoint, 'parts'> };

/** Lets parts of a chunk be fetched anew, as `refetchParts` does. */
export type Refetch = (chunk: ChunkRow) => Promise<PartReplacement>;

/** The parts are complete; they may be used several times, each time from the start. */
export type UseParts<T> = (parts: readonly StoredPart[]) => Promise<T>;

/**
 * @param refetch without it a damaged part or a failed proof is final.
 * @returns undefined when a part is damaged and the service has forgotten the folio: the chunk is UNPROCESSED then.
 * @throws UntrustedError, with the chunk in it, when no fetch can cure it, the parts fetched anew are no better, or
 *   all stored parts are whole and the service has forgotten the folio.
 */
export async function withHealing<T>(
  run: HealingNeeds,
  chunk: ChunkRow,
  refetch: Refetch | undefined,
  use: UseParts<T>,
): Promise<T | undefined> {
  let failure: unknown;
  try {
    return await use(await run.checkpoint.parts(run.id, chunk.number));
  } catch (error) {
    const mayHeal = error instanceof DamagedPartError || error instanceof MismatchError;
    if (refetch === undefined || !mayHeal) throw namedByChunk(chunk, error);
    failure = error;
  }
  const replacement = await refetch(chunk);
  const mend = createMending(run, chunk, replacement);
  try {
    for (;;) {
      await mend(failure);
      const end = await attempt(() => use(replacement.parts));
      if ('value' in end) {
        await replacement.commit();
        return end.value;
      }
      failure = end.error;
    }
  } catch (error) {
    await replacement.discard();
    if (!(error instanceof FolioLostError)) throw namedByChunk(chunk, error);
    await giveUpLost(run, chunk, error);
    return undefined;
  }
}

/** Fetches what a failure calls for, each part once and all parts once; throws it where that is done already. */
function createMending(run: HealingNeeds, chunk: ChunkRow, replacement: PartReplacement) {
  const fetched = new Set<string>();
  const tell = (error: Error, what: string) =>
    run.logger.warn(
      { chunk: chunk.number, folio: chunk.folio },
      `chunk ${chunk.number}: ${error.message}; ${what} fetched once more`,
    );

  const mendMismatch = async (error: MismatchError): Promise<void> => {
    if (fetched.has('all')) throw error;
    fetched.add('all');
    tell(error, 'its parts are');
    try {
      await replacement.fetchAll();
    } catch (failure) {
      // Nothing is lost by what the service has forgotten: all that was bought is here.
      throw failure instanceof FolioLostError ? error : failure;
    }
  };

  return async (error: unknown): Promise<void> => {
    if (error instanceof MismatchError) return mendMismatch(error);
    if (!(error instanceof DamagedPartError)) throw error;
    const name = `${error.fileStatus} ${error.part}`;
    if (fetched.has(name) || fetched.has('all')) throw error;
    fetched.add(name);
    tell(error, 'it is');
    const end = await attempt(() => replacement.fetchOne(error));
    if ('value' in end) return;
    if (!(end.error instanceof MismatchError)) throw end.error;
    await mendMismatch(end.error);
  };
}

async function attempt<T>(
  work: () => Promise<T>,
): Promise<{ readonly value: T } | { readonly error: unknown }> {
  try {
    return { value: await work() };
  } catch (error) {
    return { error };
  }
}

// Puts the chunk into an error of those that know only their part, and says what to do about it.

/** The same error with the chunk in it; any other as it is. */
export function namedByChunk(chunk: ChunkRow, error: unknown): unknown {
  const where = `chunk ${chunk.number} (folio ${chunk.folio})`;
  const facts = { chunk: chunk.number, folio: chunk.folio };
  if (error instanceof UntrustedError) {
    return new UntrustedError(error.code, `${where}: ${error.message}`, {
      hint: error.hint ?? askProvider,
      facts: { ...error.facts, ...facts },
      cause: error,
    });
  }
  if (error instanceof DamagedPartError) {
    return new UntrustedError('PART_DAMAGED', `${where}: ${error.message}`, {
      hint: 'foliopipe run fetches it again, which costs nothing',
      facts,
      cause: error,
    });
  }
  return error;
}
