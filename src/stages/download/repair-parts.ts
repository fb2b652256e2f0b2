/**
 * Uses a chunk's stored parts, and repairs them: parts that are damaged on the disk, or do not match the records sent,
 * are fetched once more (rule "Trouble stays with the chunk", docs/architecture.md#trouble-stays-with-the-chunk). Any
 * other error is final. Invariant: a repair never loses stored parts that can be read.
 */
import { isDeepStrictEqual } from 'node:util';
import type { Checkpoint, ChunkRow } from '../../checkpoint/checkpoint.js';
import { FolioLostError, MismatchError, UntrustedError } from '../../errors.js';
import { DamagedPartError } from '../../files/run-files.js';
import { askProvider } from '../../results/mismatch-hints.js';
import type { RunContext } from '../../run-context.js';
import type { StoredPart } from '../../types.js';
import { giveUpFolio } from '../track/lost-folios.js';
import type { PartReplacement } from './refetch-parts.js';

/** Prepares to fetch the parts of a chunk again, see `refetchParts`. */
export type Refetch = (chunk: ChunkRow) => Promise<PartReplacement>;

/** Work on all parts of a chunk. It may be called several times and must start from the beginning each time. */
export type UseParts<T> = (parts: readonly StoredPart[]) => Promise<T>;

/** How `withRepair` repairs. */
export interface RepairOptions {
  /** Fetches a chunk's parts again; without it a damaged part or a failed proof is final. */
  readonly refetch?: Refetch | undefined;
  /** Whether the rows of the chunk are final: parts are replaced by equal ones only, and the chunk is not given up. */
  readonly isFinal?: boolean | undefined;
}

/** The part of a run that is needed to log a repair and to give up a lost folio. */
type RepairRun = Pick<RunContext, 'id' | 'logger'> & {
  readonly checkpoint: Pick<Checkpoint, 'parts' | 'recordUnprocessed' | 'recordUnmerged'>;
};

/**
 * Repairs of one chunk run one after the other: two stages may find its parts damaged at once.
 * @returns undefined when a part is damaged and the folio is lost: the chunk is UNPROCESSED then.
 * @throws UntrustedError, with the chunk in its facts, when fetching again cannot help, when the new parts are no
 *   better, or when all stored parts are whole and the folio is lost.
 */
export async function withRepair<T extends object>(
  run: RepairRun,
  chunk: ChunkRow,
  options: RepairOptions,
  use: UseParts<T>,
): Promise<T | undefined> {
  const { refetch } = options;
  const parts = await run.checkpoint.parts(run.id, chunk.number);
  let failure: unknown;
  try {
    return await use(parts);
  } catch (error) {
    const canRepair = error instanceof DamagedPartError || error instanceof MismatchError;
    if (refetch === undefined || !canRepair) throw errorOfChunk(chunk, error);
    failure = error;
  }
  const again = () => withRepair(run, chunk, options, use);
  // Another stage may have replaced them meanwhile.
  const now = await run.checkpoint.parts(run.id, chunk.number);
  if (!isDeepStrictEqual(now, parts)) return again();
  const repairs = repairsOf(run);
  const other = repairs.get(chunk.number);
  if (other !== undefined) return (await other) ? again() : undefined;
  const repair = repairAndUse(run, chunk, { ...options, refetch }, use, failure);
  const isAnswered = repair.then(
    (found) => found !== undefined,
    () => true,
  );
  repairs.set(chunk.number, isAnswered);
  try {
    return await repair;
  } finally {
    repairs.delete(chunk.number);
  }
}

async function repairAndUse<T extends object>(
  run: RepairRun,
  chunk: ChunkRow,
  { refetch, isFinal = false }: RepairOptions & { readonly refetch: Refetch },
  use: UseParts<T>,
  first: unknown,
): Promise<T | undefined> {
  let failure = first;
  const replacement = await refetch(chunk);
  const stored = replacement.parts;
  const repair = createRepair(run, chunk, replacement);
  try {
    for (;;) {
      await repair(failure);
      const end = await attempt(() => use(replacement.parts));
      if ('value' in end) {
        if (isFinal && !isDeepStrictEqual(replacement.parts, stored)) throw first;
        await replacement.commit();
        return end.value;
      }
      failure = end.error;
    }
  } catch (error) {
    await replacement.discard();
    if (!(error instanceof FolioLostError)) throw errorOfChunk(chunk, error);
    if (isFinal) throw errorOfChunk(chunk, first);
    await giveUpFolio(run, chunk, error);
    return undefined;
  }
}

/**
 * The repairs that run now, by the number of their chunk: whether the chunk still has its answers when one has ended.
 * The stages of a run share its checkpoint.
 */
function repairsOf({ checkpoint }: RepairRun): Map<number, Promise<boolean>> {
  const known = running.get(checkpoint);
  if (known !== undefined) return known;
  const none = new Map<number, Promise<boolean>>();
  running.set(checkpoint, none);
  return none;
}

const running = new WeakMap<object, Map<number, Promise<boolean>>>();

/** Fetches a damaged part again, or all parts after a mismatch; each only once. The next failure of it is thrown. */
function createRepair(run: RepairRun, chunk: ChunkRow, replacement: PartReplacement) {
  const fetched = new Set<string>();
  const log = (error: Error, what: string) =>
    run.logger.warn(
      { chunk: chunk.number, folio: chunk.folio },
      `chunk ${chunk.number}: ${error.message}; ${what} fetched once more`,
    );

  const repairMismatch = async (error: MismatchError): Promise<void> => {
    if (fetched.has('all')) throw error;
    fetched.add('all');
    log(error, 'its parts are');
    try {
      await replacement.fetchAll();
    } catch (failure) {
      // The folio is lost, but all its stored parts can be read, so the mismatch is the error.
      throw failure instanceof FolioLostError ? error : failure;
    }
  };

  return async (error: unknown): Promise<void> => {
    if (error instanceof MismatchError) return repairMismatch(error);
    if (!(error instanceof DamagedPartError)) throw error;
    const name = `${error.fileStatus} ${error.part}`;
    if (fetched.has(name) || fetched.has('all')) throw error;
    fetched.add(name);
    log(error, 'it is');
    const end = await attempt(() => replacement.fetchOne(error));
    if ('value' in end) return;
    if (!(end.error instanceof MismatchError)) throw end.error;
    await repairMismatch(end.error);
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

/** Adds the chunk and a hint to an error of a part that does not name its chunk. Returns any other error unchanged. */
export function errorOfChunk(chunk: ChunkRow, error: unknown): unknown {
  const where = `chunk ${chunk.number} (folio ${chunk.folio})`;
  const facts = { chunk: chunk.number, folio: chunk.folio };
  if (error instanceof UntrustedError) {
    if (error.facts.chunk === chunk.number) return error;
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
