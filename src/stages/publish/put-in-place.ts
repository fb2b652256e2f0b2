/**
 * Publishes a complete work file, or what is made from it (encode-output.ts), in these steps (rule "A file appears
 * whole", docs/architecture.md#a-file-appears-whole): check the source again, commit "publishing" with length and hash,
 * remove old markers, rename the work file, sync the folder, write the manifest, write the marker. In an output that is
 * a folder, each publication has a place of its own, and these steps end with naming it (name-latest.ts). After a kill,
 * a resume that finds "publishing" repeats the steps after that commit.
 */

import type { Checkpoint, Publication, RowCounts } from '../../checkpoint/checkpoint.js';
import { frozenOutput } from '../../config/frozen-config.js';
import { isFolder, publicationPlace } from '../../config/sections/output-names.js';
import { TroubleError } from '../../errors.js';
import type { FailureReason } from '../../failure-reasons.js';
import { hasContent } from '../../files/output-store.js';
import { isLocalFile, removeLocalFile, workPathOf } from '../../files/work-file.js';
import { countOf, formatBytes } from '../../quantities.js';
import { judgedCounts, runExitCode } from '../../report/exit-code.js';
import { writeManifest, writeMarker } from '../../report/manifest.js';
import { numberInPlace, refuseOverPaid } from '../../report/output-owner.js';
import { markerPaths, publicationNames } from '../../report/publication-files.js';
import type { RunContext } from '../../run-context.js';
import { type HashedFile, hashFile } from '../../streams/file-identity.js';
import { checkAllFiles } from '../read-source.js';
import { hasAllBeside, putBeside } from './beside-output.js';
import { checkBalance } from './check-balance.js';
import { hashWaitingLists, removeWaitingLists } from './drift-file.js';
import { encodeOutput, waitingOutput } from './encode-output.js';
import { type KeepAnswersNeeds, keepAnswers, removeKeptChunks, removeReplaced } from './keep-answers.js';
import { measureDrift } from './measure-drift.js';
import { measureNight } from './measure-night.js';
import { nameLatest, stampIfLatest, sweepEarlier } from './name-latest.js';
import { recordBase, writeDelta } from './write-delta.js';
import { writeRejects } from './write-rejects.js';

export type PutInPlaceNeeds = KeepAnswersNeeds &
  Pick<RunContext, 'output' | 'deltas' | 'clock' | 'signal' | 'progress'> & {
    readonly checkpoint: Pick<
      Checkpoint,
      | 'run'
      | 'runs'
      | 'publications'
      | 'tally'
      | 'nextChunk'
      | 'nextStretch'
      | 'chunksIn'
      | 'nightOf'
      | 'failureReasons'
      | 'spending'
      | 'recordPublishing'
      | 'recordDone'
      | 'recordUnpublished'
    >;
  };

/** A work file with all rows of the output. */
export interface CompleteWorkFile {
  readonly path: string;
  /** How many of its records ended in each way. */
  readonly merged: RowCounts;
  /** The columns that the service adds, in the order of the header. */
  readonly columns: readonly string[];
  /** Whether it is the partial output at a deadline, after which the run stays open. */
  readonly partial: boolean;
  /** Why its rows have no prediction; left out if the checkpoint counts it. */
  readonly reasons?: readonly FailureReason[];
}

/**
 * Checks the balance, the source and the work file, and commits "publishing".
 * @param hash computes the hash of the work file; undefined if the file is not as it was written.
 * @throws UntrustedError when the run does not balance; SourceError when the source changed.
 */
export async function commitPublication(
  run: PutInPlaceNeeds,
  { path, merged, columns, partial, reasons }: CompleteWorkFile,
  hash = () => hashFile(path),
): Promise<Publication> {
  const { config } = run;
  const { counts, origins } = await checkBalance(run, merged);
  const { rehearsal } = (await run.checkpoint.run(run.id))!;
  if (rehearsal) await refuseOverPaid(run.output, config.output.path, run.id);
  await checkAllFiles(run);
  const rejects = await writeRejects(run);
  const work = await hash();
  if (work === undefined) {
    throw new TroubleError('WORK_FILE_CHANGED', `${path} is not as it was written`, {
      hint: 'run the same command again: it writes the file again from the stored results',
    });
  }
  await removeWaitingLists(run);
  const delta = partial ? undefined : await writeDelta(run, { path, sha256: work.sha256, columns });
  const drift = partial ? undefined : await measureDrift(run, columns);
  const lists = await hashWaitingLists(run);
  // A sample does not count as a night.
  const isNight = !partial && run.source.limit === undefined;
  const night = isNight ? await measureNight(run, { path, columns, counts, origins, drift }) : undefined;
  const records = counts.read - counts.rejected;
  const encoded = await encodeOutput(run, { path, columns, records });
  const file = {
    ...(encoded ?? work),
    ...(encoded && { content: { bytes: work.bytes, sha256: work.sha256 } }),
    records,
    exitCode: partial
      ? deadlineExitCode
      : runExitCode(judgedCounts({ counts, origins }), config.failures.tolerate),
    partial,
    counts,
    origins,
    resultColumns: columns,
    output: config.output,
    ...(delta && { delta }),
    ...(drift && { drift }),
    ...(night && { night }),
    ...(reasons && { reasons }),
    ...(rejects && { rejects }),
    ...(Object.keys(lists).length > 0 && { lists }),
    at: run.clock.now(),
  };
  // The place may have changed while the run worked. Once "publishing" is committed, no other place can be chosen.
  await run.output.checkWritable(publicationNames(config.output.path, config.stateDir));
  // A restored or new state may not know the last publications, but loaders do: the number must increase.
  const above = await numberInPlace(run.output, config, run.clock.now());
  const publication = await run.checkpoint.recordPublishing(run.id, file, frozenOutput(config), above);
  run.at('after-publishing-before-rename');
  return publication;
}

const deadlineExitCode = 8;

/**
 * Puts the work file in place, or continues after a killed process. Uses the output settings of the publication, not
 * those of the config.
 * @param isFresh this process has just committed "publishing", so the work file need not be hashed again.
 */
export async function putInPlace(
  needs: PutInPlaceNeeds,
  publication: Publication,
  isFresh = false,
): Promise<void> {
  const run = { ...needs, config: configOf(needs, publication) };
  const named = await stampIfLatest(run, publication);
  const stamp = named ?? (await putFiles(run, publication, isFresh));
  if (isFolder(publication.output.path)) {
    await removeLocalFile(
      workPathOf(publication.output.path, run.id, run.config.stateDir, publication.partial),
    );
    await sweepEarlier(run, publication.output.path);
  }
  // The run stays open after a partial publication, and its answers are not complete.
  const kept = publication.partial ? undefined : await keepAnswers(needs);
  run.at('after-marker-before-done');
  await recordBase(run, publication);
  await run.checkpoint.recordDone(run.id, run.clock.now(), stamp, kept?.segment);
  await removeReplaced(run, kept);
  if (!publication.partial) await removeKeptChunks(run);
  await reportPublished(run, publication);
}

async function reportPublished(
  { id, checkpoint, logger, progress, config }: PutInPlaceNeeds,
  { number, records, bytes, exitCode }: Publication,
): Promise<void> {
  const { pipeline } = (await checkpoint.run(id))!;
  const { path } = config.output;
  logger.info(
    { run: id, pipeline, publication: number, path, records, bytes, exitCode },
    `publication ${number} of run ${id} is in place: ${path}, ${countOf(records, 'row')}, ${formatBytes(bytes)}`,
  );
  progress.emit({ type: 'published', run: id, pipeline, publication: number, path, records, bytes });
}

/** The config with the output settings of a publication, and with its place as their path. */
function configOf(
  { id, config }: Pick<RunContext, 'id' | 'config'>,
  { output, number }: Publication,
): RunContext['config'] {
  const { s3, keep } = config.output;
  const path = publicationPlace(output.path, id, number);
  const added = { delta: false, drift: false, types: {}, maxFileBytes: null };
  return { ...config, output: { ...added, ...output, path, s3, keep } };
}

/** @returns the stamp of the output. */
async function putFiles(
  run: PutInPlaceNeeds,
  publication: Publication,
  isFresh: boolean,
): Promise<string | undefined> {
  await removeMarkers(run);
  const stamp = await putWorkFile(run, publication, isFresh);
  if (publication.content !== undefined) {
    await removeLocalFile(
      workPathOf(run.config.output.path, run.id, run.config.stateDir, publication.partial),
    );
  }
  run.at('after-rename-before-manifest');
  await putBeside(run, publication);
  await writeManifest(run, publication);
  run.at('after-manifest-before-marker');
  await writeMarker(run, publication);
  if (isFolder(publication.output.path)) await nameLatest(run, publication);
  return stamp;
}

/** Writes the missing marker of an output that is in place. The publication stays the same. */
export async function rewriteMarker(
  given: Parameters<typeof writeMarker>[0],
  publication: Publication,
): Promise<void> {
  const run = { ...given, config: configOf(given, publication) };
  await removeMarkers(run);
  await writeMarker(run, publication);
}

async function removeMarkers(run: Pick<RunContext, 'output' | 'config'>): Promise<void> {
  for (const marker of markerPaths(run.config.output.path)) await run.output.remove(marker);
}

/** @returns the stamp of the output, by which a later process recognizes the file without reading it. */
async function putWorkFile(
  run: PutInPlaceNeeds,
  publication: Publication,
  isFresh: boolean,
): Promise<string | undefined> {
  const { path, mode, maxFileBytes } = run.config.output;
  const cut = { pipeline: run.config.pipeline, maxFileBytes };
  const isEncoded = publication.content !== undefined;
  const work = waitingOutput(workPathOf(path, run.id, run.config.stateDir, publication.partial), isEncoded);
  const isComplete = isFresh || (await hasAllBeside(run, publication));
  if (isComplete && (await isLocalFile(work))) {
    if (isFresh || isContent(await hashFile(work), publication)) return run.output.put(work, path, mode, cut);
  } else if (isComplete) {
    const there = await run.output.identity(path);
    if (there !== undefined && (await hasContent(there, publication))) return there.stamp;
  }
  await run.checkpoint.recordUnpublished(run.id);
  throw new TroubleError('WORK_FILE_CHANGED', `${work} is not as it was when publishing began`, {
    hint: 'run the same command again: it writes the file again from the stored results',
  });
}

function isContent(found: HashedFile | undefined, { bytes, sha256 }: Publication): boolean {
  return found?.sha256 === sha256 && found.bytes === bytes;
}
