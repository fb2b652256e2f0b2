/**
 * Lists drift by key (`output.drift`) in a file beside the output. The earlier answers are read from the last
 * publication, if it is still where it was put.
 */
import type { Checkpoint } from '../../checkpoint/checkpoint.js';
import { besidePath, publicationPlace } from '../../config/sections/output-names.js';
import type { LastPublication } from '../../delta/delta-store.js';
import type { DriftList } from '../../delta/list-drift.js';
import { readContent } from '../../files/encoded-file.js';
import { hasContent } from '../../files/output-store.js';
import { outputFormat } from '../../output-format.js';
import type { RunContext } from '../../run-context.js';
import { showText } from '../../text.js';
import type { PublishedDelta } from '../../types.js';
import { writeList } from './drift-file.js';

type KeyDriftNeeds = Pick<RunContext, 'id' | 'config' | 'output' | 'logger'> & {
  readonly checkpoint: Pick<Checkpoint, 'runs'>;
};

/**
 * Computes the delta, and lists its drift in a local file if `output.drift` asks for it; `putBeside` puts that in place.
 * @param compute gets the list to write into; undefined if differences are only counted.
 */
export async function listKeyDrift(
  run: KeyDriftNeeds,
  last: LastPublication | undefined,
  compute: (list: DriftList | undefined) => Promise<PublishedDelta>,
): Promise<PublishedDelta> {
  if (!run.config.output.drift || last === undefined) return compute(undefined);
  return writeList(
    run,
    'keyDrift',
    run.config.source.key ?? [],
    (append) => compute({ openBase: () => openBase(run, last), append }),
    ({ drift }) => drift !== undefined,
  );
}

/** The CSV of the last publication. If it is missing or was changed, logs that and returns undefined. */
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
    `publication ${number} is no longer at ${showText(path)} as it was written, or is a Parquet file: the column before is empty in ${showText(besidePath(output.path, 'key-drift.csv'))}`,
  );
  return undefined;
}
