/** Checks that the file of a publication is in place and can be loaded, by foliopipe or by a printed script. */
import type { CheckpointReader, Publication, Run } from '../../checkpoint/checkpoint.js';
import { ConfigError } from '../../errors.js';
import { hasContent, type OutputStore } from '../../files/output-store.js';
import { outputFormat } from '../../output-format.js';

interface LoadFileNeeds {
  readonly checkpoint: Pick<CheckpointReader, 'publications'>;
  readonly output: Pick<OutputStore, 'identity'>;
}

interface LoadFileOptions {
  /** The command that hints name, without the run. Default: `foliopipe load`. */
  readonly command?: string;
  /** Also compares the content, which may read the whole file. A load compares it while it reads. */
  readonly content?: boolean;
}

/**
 * The publication that a load of the run takes.
 * @throws ConfigError `RUN_UNFINISHED`.
 */
export function publicationOf(run: Run): Publication {
  const { id, state, publication, confirmed } = run;
  if (state === 'done' && publication !== null) return publication;
  throw new ConfigError(
    'RUN_UNFINISHED',
    `run ${id} is ${confirmed === null ? state : 'confirmed without an output'}, and has nothing to load`,
    { hint: unloadedHint(run), facts: { run: id, state } },
  );
}

function unloadedHint({ id, state, confirmed }: Run): string {
  if (state === 'superseded') return 'see the runs that are done with: foliopipe runs';
  if (state === 'withheld' || confirmed !== null) {
    return `publish it anyway with: foliopipe publish ${id}; then: foliopipe load ${id}`;
  }
  return 'finish it with: foliopipe run, which loads it too';
}

/** @throws ConfigError `LOAD_NEEDS_CSV`, `OUTPUT_MISSING`, `OUTPUT_CHANGED`. */
export async function checkLoadFile(
  { checkpoint, output }: LoadFileNeeds,
  { id, pipeline }: Pick<Run, 'id' | 'pipeline'>,
  publication: Publication,
  { command = 'foliopipe load', content = false }: LoadFileOptions = {},
): Promise<void> {
  checkHoldsCsv(id, publication, command);
  const { path } = publication.output;
  const found = await output.identity(path);
  const isIt = content ? found && (await hasContent(found, publication)) : found?.bytes === publication.bytes;
  if (isIt) return;
  const again = `foliopipe publish ${id}; then: ${command} ${id}`;
  const facts = { run: id, path };
  if (found === undefined) {
    throw new ConfigError('OUTPUT_MISSING', `run ${id}: ${path} is not there, and nothing was loaded`, {
      hint: `write it again with: ${again}`,
      facts,
    });
  }
  const newest = (await checkpoint.publications(pipeline)).find((file) => file.path === path);
  const isNewest = newest !== undefined && newest.run !== id && (await hasContent(found, newest));
  const holds = isNewest
    ? `holds publication ${newest.number} of run ${newest.run}`
    : 'is not what this run has published';
  throw new ConfigError('OUTPUT_CHANGED', `run ${id}: ${path} ${holds}, and nothing was loaded`, {
    hint: isNewest
      ? `load that one with: ${command} ${newest.run}; or go back to this run with: ${again}`
      : `write it again with: ${again}`,
    facts,
  });
}

function checkHoldsCsv(run: string, { output: { path }, content }: Publication, command: string): void {
  if (content === undefined || outputFormat(path) !== 'parquet') return;
  throw new ConfigError('LOAD_NEEDS_CSV', `run ${run} was published as Parquet, and a load reads a CSV`, {
    hint: `let output.path end in .csv, .csv.gz or .csv.zst, then: foliopipe publish ${run}; then: ${command} ${run}`,
    facts: { run, path },
  });
}
