/**
 * Uses a chunk's stored parts, and repairs them: parts that are damaged on the disk, or do not match the records sent,
 * are fetched once more (rule "Trouble stays with the chunk", docs/architecture.md#trouble-stays-with-the-chunk). Any
 * other error is final. Invariant: a repair never loses stored parts that can be read.
 */
import { isDeepStrictEqual } from 'node:util';
import type { Checkpoint, ChunkRow } from '../../checkpoint/checkpoint.js';
import { FolioLostError, MismatchError, UntrustedError } from '../../errors.js';
import { DamagedPartError } from '../../files/run-files.js';
import type { PartReplacement, Refetch, RunContext } from '../../run-context.js';
import type { StoredPart } from '../../types.js';
import { giveUpFolio } from '../track/lost-folios.js';
import { withGiveUpHint } from './give-up-hint.js';

/** Work on all parts of a chunk. It may be called several times and must start from the beginning each time. */
export type UseParts<T> = (parts: readonly StoredPart[]) => Promise<T>;

/** The part of a run that is needed to fetch parts again, to log that, and to give up a lost folio. */
type RepairRun = Pick<RunContext, 'id' | 'logger' | 'refetch'> & {
  readonly checkpoint: Pick<Checkpoint, 'chunk' | 'parts' | 'recordUnprocessed' | 'recordUnmerged'>;
};

/**
 * Stages use a chunk's parts one after the other: two of them may find a part damaged.
 * @param isFinal the rows of the chunk are final: parts are replaced only by equal ones, and the chunk is not given up.
 * @returns undefined when a part is damaged and the folio is lost: the chunk is UNPROCESSED then.
 * @throws UntrustedError, with the chunk in its facts, when fetching again cannot help, when the new parts are no
 *   better, or when the folio is lost and all stored parts are undamaged.
 */
export function withRepair<T>(
  run: RepairRun,
  chunk: ChunkRow,
  use: UseParts<T>,
  isFinal = false,
): Promise<T | undefined> {
  return inTurn(run, chunk, async () => {
    const { refetch } = run;
    const parts = await run.checkpoint.parts(run.id, chunk.number);
    const end = await attempt(() => use(parts));
    if ('value' in end) return end.value;
    const { error } = end;
    const canRepair = error instanceof DamagedPartError || error instanceof MismatchError;
    if (refetch === undefined || !canRepair) throw errorOfChunk(run.id, chunk, error);
    // Another stage may have given it up.
    const now = await run.checkpoint.chunk(run.id, chunk.number);
    if (now?.state === 'unprocessed') return undefined;
    return repairAndUse(run, chunk, refetch, use, isFinal, error);
  });
}

async function repairAndUse<T>(
  run: RepairRun,
  chunk: ChunkRow,
  refetch: Refetch,
  use: UseParts<T>,
  isFinal: boolean,
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
    if (!(error instanceof FolioLostError)) throw errorOfChunk(run.id, chunk, error);
    if (isFinal) throw errorOfChunk(run.id, chunk, first);
    await giveUpFolio(run, chunk, error);
    return undefined;
  }
}

/** Does work on a chunk when all earlier work on it has ended. The stages of a run share one checkpoint object. */
async function inTurn<T>(
  { id, checkpoint }: RepairRun,
  { number }: ChunkRow,
  work: () => Promise<T>,
): Promise<T> {
  const turns = working.get(checkpoint) ?? new Map<string, Promise<unknown>>();
  working.set(checkpoint, turns);
  const key = `${id} ${number}`;
  const before = turns.get(key);
  const own = before === undefined ? work() : before.then(work, work);
  turns.set(key, own);
  try {
    return await own;
  } finally {
    if (turns.get(key) === own) turns.delete(key);
  }
}

/** For each chunk, the last work that has not ended. */
const working = new WeakMap<object, Map<string, Promise<unknown>>>();

/** Fetches a damaged part again, or all parts after a mismatch, each only once. A second failure is thrown. */
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

/**
 * Fetches parts again for rows that may replace those of an output in place: a chunk is not given up if that output has its
 * answers.
 * @param isInOutput reads the whole output, so it is asked only when a folio is lost.
 */
export function withoutGivingUp(
  { id, refetch }: Pick<RunContext, 'id' | 'refetch'>,
  isInOutput: () => Promise<boolean>,
): Refetch | undefined {
  if (refetch === undefined) return undefined;
  return async (chunk) => {
    const replacement = await refetch(chunk);
    return {
      ...replacement,
      get parts() {
        return replacement.parts;
      },
      fetchOne: (part) =>
        replacement.fetchOne(part).catch(async (error: unknown) => {
          const isKept = error instanceof FolioLostError && (await isInOutput());
          throw isKept ? onlyInOutputError(id, chunk, error) : error;
        }),
    };
  };
}

function onlyInOutputError(run: string, { number, folio }: ChunkRow, cause: FolioLostError): UntrustedError {
  return new UntrustedError(
    'ANSWERS_ONLY_IN_OUTPUT',
    `chunk ${number}: a stored part of it is damaged, the service no longer knows folio ${folio}, and the output in place has its answers`,
    {
      hint: `nothing is published, and that output stays: undo the change of the config, or keep a copy of it; to replace it anyway, with these records UNPROCESSED: foliopipe publish ${run}`,
      facts: { run, chunk: number, folio },
      cause,
    },
  );
}

/** Whether it is the error of a damaged part that could not be fetched again. */
export function isPartDamaged(error: unknown): boolean {
  return error instanceof UntrustedError && error.code === 'PART_DAMAGED';
}

/** Adds the chunk, and a hint with the way out, to an error of its answers. Returns any other error unchanged. */
export function errorOfChunk(run: string, chunk: ChunkRow, error: unknown): unknown {
  const where = `chunk ${chunk.number} (folio ${chunk.folio})`;
  const facts = { chunk: chunk.number, folio: chunk.folio };
  if (error instanceof UntrustedError) {
    const isNamed = error.facts.chunk === chunk.number;
    const named = isNamed
      ? error
      : new UntrustedError(error.code, `${where}: ${error.message}`, {
          ...(error.hint !== undefined && { hint: error.hint }),
          facts: { ...error.facts, ...facts },
          cause: error,
        });
    return withGiveUpHint(run, chunk, named);
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
