/**
 * Names the newest publication of an output that is a folder, in `_LATEST.json`, and removes older ones after that. A
 * reader begins with that file, so it never finds half a publication.
 */
import type { Checkpoint, Publication } from '../../checkpoint/checkpoint.js';
import {
  besidePath,
  dataPath,
  isFolder,
  latestPath,
  publicationPlace,
} from '../../config/sections/output-names.js';
import { type Latest, readIndex, readLatest } from '../../files/folder-index.js';
import { hasContent } from '../../files/output-store.js';
import { markerPath, publicationStatus, putFile } from '../../report/publication-files.js';
import type { RunContext } from '../../run-context.js';

type NameLatestNeeds = Pick<RunContext, 'id' | 'config' | 'output' | 'at'> & {
  readonly checkpoint: Pick<Checkpoint, 'run' | 'publications'>;
};

/**
 * The stamp of a publication that is complete and named already, because a kill came after that; undefined for any other.
 * Names it once more, because the kill may have come before the name was durable.
 */
export async function stampIfLatest(
  run: NameLatestNeeds,
  publication: Publication,
): Promise<string | undefined> {
  const { path } = publication.output;
  if (!isFolder(path)) return undefined;
  const place = publicationPlace(path, run.id, publication.number);
  if (`${path}${(await readLatest(run.output, path))?.folder}` !== place) return undefined;
  const there = await run.output.identity(place);
  if (there === undefined || !(await hasContent(there, publication))) return undefined;
  await nameLatest(run, publication);
  return there.stamp;
}

/** Names the publication, whose other files are in place, and the earlier ones that stay (`output.keep`). */
export async function nameLatest(run: NameLatestNeeds, publication: Publication): Promise<void> {
  run.at('after-marker-before-latest');
  const { path } = publication.output;
  const place = publicationPlace(path, run.id, publication.number);
  const within = (name: string) => name.slice(path.length);
  const row = (await run.checkpoint.run(run.id))!;
  const { pipeline, service } = row;
  const { counts, exitCode, bytes, records, sha256, number, at } = publication;
  const before = await readLatest(run.output, path);
  const known = before?.pipeline === pipeline ? [before.folder, ...before.earlier] : await namesOf(run, path);
  const { parts } = (await readIndex(run.output, place))!;
  const latest: Latest & Readonly<Record<string, unknown>> = {
    version: 1,
    publication: number,
    status: publicationStatus(row, exitCode),
    exitCode,
    complete: counts.unprocessed === 0,
    run: run.id,
    pipeline,
    service,
    published: at === undefined ? null : new Date(at).toISOString(),
    folder: within(place),
    data: within(dataPath(place)),
    manifest: within(besidePath(place, 'manifest.json')),
    marker: within(markerPath(place, row, exitCode)),
    counts,
    output: { bytes, records, sha256 },
    parts: parts!.map((part) => ({ ...part, name: `${within(dataPath(place))}${part.name}` })),
    earlier: known.filter((folder) => folder !== within(place)).slice(0, run.config.output.keep - 1),
  };
  await putFile(run, latestPath(path), async (append) => append(`${JSON.stringify(latest, null, 2)}\n`));
  run.at('after-latest-before-sweep');
}

/** The folders of publications that were put in place, newest first. Used if `_LATEST.json` does not name them. */
async function namesOf({ checkpoint, config }: NameLatestNeeds, path: string): Promise<string[]> {
  const files = await checkpoint.publications(config.pipeline);
  return files
    .filter((file) => file.path === path && file.stamp !== null)
    .map(({ run, number }) => publicationPlace(path, run, number).slice(path.length));
}

/** Removes the pipeline's publications that `_LATEST.json` does not name. Only warns if one cannot be removed. */
export async function sweepEarlier(
  run: Pick<RunContext, 'config' | 'output' | 'logger'>,
  output: string,
): Promise<void> {
  const latest = await readLatest(run.output, output);
  if (latest === undefined) return;
  try {
    await run.output.sweep?.(output, run.config.pipeline, [latest.folder, ...latest.earlier]);
  } catch (error) {
    run.logger.warn(
      { path: output, reason: String(error) },
      `an earlier publication in ${output} cannot be removed; the next publication tries again`,
    );
  }
}
