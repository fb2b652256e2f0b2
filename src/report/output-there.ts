/** What is at the path of a run's output now: its publication, a partial one, another one, or nothing. Reads no file. */
import type { CheckpointReader, Publication, Run, Withheld } from '../checkpoint/checkpoint.js';
import { isUnfinished } from '../checkpoint/walk-run.js';
import { dataPath, publicationPlace } from '../config/sections/output-names.js';
import { frozenOutputPath } from '../config/sections/output-path.js';
import { FoliopipeError } from '../errors.js';
import type { FailureReason } from '../failure-reasons.js';
import type { OutputStore } from '../files/output-store.js';
import { countOf, formatCount, formatDuration } from '../quantities.js';
import type { Counts } from '../types.js';

interface PlaceSources {
  readonly checkpoint: Pick<CheckpointReader, 'publications'>;
  readonly output: Pick<OutputStore, 'identity'>;
}

/** Where a publication is now. */
export interface OutputThere {
  /**
   * Whether a file of this size is at the path now, and it is not another publication; null if its store does not say.
   */
  readonly inPlace: boolean | null;
  /** The other publication of the pipeline that is at the path now; else null. */
  readonly heldBy: { readonly publication: number; readonly run: string } | null;
}

/** A complete run whose output is not published, and what stays at its path. */
export interface WithheldOutput {
  /** `failures.tolerate` when it was withheld: a share from 0 to 1. */
  readonly tolerate: number;
  /** The path at which it would be published. */
  readonly path: string | null;
  /** The publication that stays there; null if there is none. */
  readonly inPlace: { readonly publication: number; readonly run: string } | null;
}

/** A partial publication of a run that is not complete. */
export interface PartialFacts {
  readonly publication: number;
  readonly path: string;
  /** The folder with its parts, if the path is that of a folder. */
  readonly data?: string;
  readonly exitCode: number;
  /** When it was ready, in epoch milliseconds. */
  readonly at: number | null;
  /** The counts of its rows. UNPROCESSED are those without an answer at that time. */
  readonly counts: Counts;
  /** Why its rows have no prediction. */
  readonly failedBy: readonly FailureReason[];
}

/** A partial publication, and where it is now. */
export interface PartialOutput extends PartialFacts, OutputThere {}

/** @returns null for a run without a partial publication, and for a run that has ended. */
export function partialFacts(run: Run): PartialFacts | null {
  if (run.partial === null || !isUnfinished(run)) return null;
  const { number, output, exitCode, counts, reasons = [], at = null } = run.partial;
  const place = publicationPlace(output.path, run.id, number);
  return {
    publication: number,
    path: output.path,
    ...(place !== output.path && { data: dataPath(place) }),
    exitCode,
    at,
    counts,
    failedBy: reasons,
  };
}

export async function partialOutput(sources: PlaceSources, run: Run): Promise<PartialOutput | null> {
  const facts = partialFacts(run);
  return facts && { ...facts, ...(await findOutput(sources, run.pipeline, run.partial!)) };
}

/** Says where a partial publication is and what it lacks, such as `publication 3 (exit 8) is at out.csv ...`. */
export function partialText(partial: PartialOutput, now: number): string {
  const { publication, path, data = path, exitCode, at, counts, inPlace, heldBy } = partial;
  const { read, rejected, unprocessed } = counts;
  const age = at === null ? '' : ` of ${formatDuration(Math.max(now - at, 0))} ago`;
  const lack = `${formatCount(unprocessed)} of its ${countOf(read - rejected, 'record')} are UNPROCESSED`;
  const there = () => {
    if (heldBy !== null)
      return `is no longer at ${path}, which holds publication ${heldBy.publication} of run ${heldBy.run}`;
    if (inPlace === null) return `was put at ${data}, whose store gives no answer now`;
    if (!inPlace) return `was put at ${data}, and is missing or was changed`;
    return `is at ${data} until the run is complete`;
  };
  return `publication ${publication}${age} (exit ${exitCode}) ${there()}: ${lack}`;
}

/** Says which publication is at the output's path now. Compares stamps and sizes only; no file is read. */
export async function findOutput(
  { checkpoint, output }: PlaceSources,
  pipeline: string,
  { number, bytes, output: { path } }: Publication,
): Promise<OutputThere> {
  const there = await output.identity(path).catch(noAnswer);
  if (there === null) return { inPlace: null, heldBy: null };
  const hasSize = there?.bytes === bytes;
  const newest = (await checkpoint.publications(pipeline)).find((file) => file.path === path);
  if (newest === undefined || newest.number === number) return { inPlace: hasSize, heldBy: null };
  // A file that was only touched has a new stamp and the same size.
  const isTouched = !hasSize && there?.bytes === newest.bytes;
  const isNewest = isTouched || (newest.stamp !== null && newest.stamp === there?.stamp);
  if (!isNewest) return { inPlace: hasSize, heldBy: null };
  return { inPlace: false, heldBy: { publication: newest.number, run: newest.run } };
}

/** A store that is down, or refuses, must not hide the rest of the summary. */
function noAnswer(error: unknown): null {
  if (error instanceof FoliopipeError) return null;
  throw error;
}

/** Says which publication is still at the output's path. Compares sizes only; no file is read. */
export async function withheldFacts(
  { checkpoint, output }: PlaceSources,
  run: Run,
  { tolerate }: Withheld,
): Promise<WithheldOutput> {
  const { id, pipeline } = run;
  const path = frozenOutputPath(run);
  const there = path === null ? undefined : await output.identity(path).catch(noAnswer);
  const files = there == null ? [] : await checkpoint.publications(pipeline);
  const last = files.find((file) => file.path === path && file.run !== id);
  const isThere = last !== undefined && last.bytes === there?.bytes;
  return { tolerate, path, inPlace: isThere ? { publication: last.number, run: last.run } : null };
}
