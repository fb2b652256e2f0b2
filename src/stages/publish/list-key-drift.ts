/**
 * Lists drift by key (`output.drift`) in a file beside the output: the answers of before stand in the last publication,
 * if it is still where it was put.
 */
import { stringify } from 'csv-stringify/sync';
import type { Checkpoint, Publication } from '../../checkpoint/checkpoint.js';
import { publicationPlace } from '../../config/sections/output-folder.js';
import type { LastPublication } from '../../delta/delta-store.js';
import type { DriftList } from '../../delta/list-drift.js';
import { readContent } from '../../files/encoded-file.js';
import { hasContent } from '../../files/output-store.js';
import { isLocalFile, removeLocalFile, workPathOf, writeLocalFile } from '../../files/work-file.js';
import { outputFormat } from '../../output-format.js';
import { keyDriftPath } from '../../report/manifest.js';
import type { RunContext } from '../../run-context.js';
import { showText } from '../../text.js';
import type { PublishedDelta } from '../../types.js';

type KeyDriftNeeds = Pick<RunContext, 'id' | 'config' | 'output' | 'logger'> & {
  readonly checkpoint: Pick<Checkpoint, 'runs'>;
};

/**
 * Computes the delta, and lists its drift in a local file if `output.drift` asks for it; `putKeyDrift` puts that in place.
 * @param compute gets where to list; undefined: the differences are counted only.
 */
export async function listKeyDrift(
  run: KeyDriftNeeds,
  last: LastPublication | undefined,
  compute: (list: DriftList | undefined) => Promise<PublishedDelta>,
): Promise<PublishedDelta> {
  if (!run.config.output.drift || last === undefined) {
    // What an earlier attempt to publish has left.
    await removeLocalFile(waitingPath(run));
    return compute(undefined);
  }
  const delta = await writeLocalFile(waitingPath(run), (append) => {
    append(stringify([['record', 'column', 'before', 'now']]));
    return compute({
      openBase: () => openBase(run, last),
      append: (differences) => append(stringify([...differences])),
    });
  });
  if (delta.drift === undefined) await removeLocalFile(waitingPath(run));
  return delta;
}

/** Puts the list in place, or removes an old one. */
export async function putKeyDrift(
  run: Pick<RunContext, 'id' | 'config' | 'output'>,
  { delta }: Publication,
): Promise<void> {
  const { path, mode, drift } = run.config.output;
  const waiting = waitingPath(run);
  // The file is missing too if a killed process has already put it in place.
  if (await isLocalFile(waiting)) await run.output.put(waiting, keyDriftPath(path), mode);
  else if (!drift || delta?.drift === undefined) await run.output.remove(keyDriftPath(path));
}

function waitingPath(run: Pick<RunContext, 'id' | 'config'>): string {
  return workPathOf(keyDriftPath(run.config.output.path), run.id, run.config.stateDir);
}

/** The CSV of the last publication; undefined, and logged, if it is not there as it was published. */
async function openBase(
  run: KeyDriftNeeds,
  last: LastPublication,
): Promise<AsyncIterable<Uint8Array> | undefined> {
  const runs = await run.checkpoint.runs(run.config.pipeline);
  const published = runs.find(({ publication }) => publication?.number === last.publication);
  if (published?.publication == null) return undefined;
  const { output, number, content, ...stored } = published.publication;
  const path = publicationPlace(output.path, published.id, number);
  const format = outputFormat(output.path);
  const found = format === 'parquet' ? undefined : await run.output.identity(path);
  if (found !== undefined && (await hasContent(found, stored))) {
    return readContent(run.output, { path, format, content });
  }
  run.logger.warn(
    { run: run.id, publication: number, path },
    `${showText(path)} is not there as publication ${number} was written, or it is a Parquet file: the list of answers that have changed lacks those of before`,
  );
  return undefined;
}
