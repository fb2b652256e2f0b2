/** Checks whether the output of a done run is in place, and whether the file at its path may be replaced. */
import type { CheckpointReader, Publication, PublishedFile, Run } from '../../checkpoint/checkpoint.js';
import type { Config } from '../../config/schema.js';
import { besidePath, publicationPlace } from '../../config/sections/output-names.js';
import { ConfigError } from '../../errors.js';
import { hasContent, type OutputStore } from '../../files/output-store.js';
import { refuseOtherPipeline } from '../../report/output-owner.js';
import { markerPath } from '../../report/publication-files.js';
import type { RunContext } from '../../run-context.js';
import { isEchoChanged } from '../merge/join-chunk.js';

/**
 * `in-place`: the output is there and matches the config. `publish`: it must be published again for this reason; a file
 * at its path, if any, was published by this pipeline.
 */
type OutputState =
  | { readonly kind: 'in-place'; readonly manifest: boolean; readonly marker: boolean }
  | { readonly kind: 'publish'; readonly why: string };

/**
 * Says whether the output must be published again. A file that still has its stamp is not read.
 * @param row a done run.
 * @throws ConfigError `OUTPUT_CHANGED` when the file at the path was not published by any run of this pipeline;
 *   `OUTPUT_OF_OTHER_PIPELINE` when another pipeline has published it.
 */
export async function checkPublished(
  {
    config,
    checkpoint,
    output,
  }: Pick<RunContext, 'config' | 'output'> & {
    readonly checkpoint: Pick<CheckpointReader, 'publications'>;
  },
  row: Run,
): Promise<OutputState> {
  const { path } = config.output;
  const publication = row.publication!;
  const files = await checkpoint.publications(row.pipeline);
  const found = await findFile(output, path, row, files);
  const changed = changedKeys(config, row, publication);
  if (changed.length > 0) return mustPublish(`the config has changed (${changed.join(', ')})`);
  if (found === undefined) return mustPublish('its output was not there');
  const newest = files.find((file) => file.path === path);
  const isOurs = newest?.number === publication.number && isSameContent(found, publication);
  if (!isOurs) return mustPublish(`publication ${found.number} (run ${found.run}) stood in its place`);
  // With another path each run's output stays in place, but a table takes publications only in ascending order.
  const nights = files.filter(({ isSample }) => !isSample);
  const last = nights.reduce((a, b) => (b.number > a.number ? b : a), newest);
  if (config.load?.into && last.number > publication.number) {
    return mustPublish(`publication ${last.number} (run ${last.run}) came after it, and it is loaded again`);
  }
  const place = publicationPlace(path, row.id, publication.number);
  const manifest = (await output.identity(besidePath(place, 'manifest.json'))) !== undefined;
  // A pruned run can write no manifest, but its output is still valid.
  if (!manifest && row.prunedAt === null) return mustPublish('its manifest was not there');
  const marker = (await output.identity(markerPath(place, row, publication.exitCode))) !== undefined;
  return { kind: 'in-place', manifest, marker };
}

/** Whether the complete publication of the run is where the config would publish it now. Reads the file. */
export async function holdsPublication(
  { config, output }: Pick<RunContext, 'config' | 'output'>,
  { id, publication }: Run,
): Promise<boolean> {
  const { path } = config.output;
  if (publication === null || publication.output.path !== path) return false;
  const found = await output.identity(publicationPlace(path, id, publication.number));
  return found !== undefined && hasContent(found, publication);
}

function mustPublish(why: string): OutputState {
  return { kind: 'publish', why };
}

/** The config keys with which the run would be published differently now. */
function changedKeys(config: Config, row: Run, { output: published, resultColumns }: Publication): string[] {
  const { output, result } = config;
  const differs = (a: unknown, b: unknown) => JSON.stringify(a) !== JSON.stringify(b);
  const keys: string[] = (['path', 'columns', 'prefix', 'lineage', 'mode'] as const)
    .filter((key) => differs(output[key], published[key]))
    .map((key) => `output.${key}`);
  if (output.delta !== (published.delta ?? false)) keys.push('output.delta');
  if (output.maxFileBytes !== (published.maxFileBytes ?? null)) keys.push('output.maxFileBytes');
  if (differs(sorted(output.types), sorted(published.types ?? {}))) keys.push('output.types');
  // The key matters only for the rows of a delta.
  const key = row.frozen['source.key'] ?? 'null';
  if (output.delta && JSON.stringify(config.source.key) !== key) keys.push('source.key');
  // Under `add`, columns of the service may follow those that are declared.
  const comparable =
    result.onChange === 'add' ? resultColumns.slice(0, result.columns.length) : resultColumns;
  const declaresOtherColumns = result.columns.length > 0 && differs(result.columns, comparable);
  if (declaresOtherColumns) keys.push('result.columns');
  if (isEchoChanged(config, row)) keys.push('result.echo');
  return keys;
}

/** The order of the types does not matter. */
function sorted(types: Config['output']['types']): readonly (readonly string[])[] {
  return Object.entries(types).sort(([a], [b]) => (a < b ? -1 : 1));
}

/**
 * The publication that is at the path: one that was put there, or a moved file of this run.
 * @returns undefined if there is no file.
 */
async function findFile(
  output: OutputStore,
  path: string,
  { id, pipeline, prunedAt }: Run,
  files: readonly PublishedFile[],
): Promise<PublishedFile | undefined> {
  const there = await output.identity(path);
  if (there === undefined) return undefined;
  const newest = files.find((file) => file.path === path);
  if (newest?.stamp === there.stamp) return newest;
  await refuseOtherPipeline(output, path, { pipeline, isTrial: true });
  const known = files.filter((file) => (file.path === path || file.run === id) && file.bytes === there.bytes);
  const sha256 = known.length === 0 ? undefined : await there.sha256();
  const found = known.find((file) => file.sha256 === sha256);
  if (found !== undefined) return found;
  const isOther =
    newest === undefined
      ? 'is not a file that this pipeline has published'
      : 'is no longer what was published';
  // Of a file that this pipeline has not published, `foliopipe publish` says OUTPUT_FOREIGN.
  const orPublish = newest === undefined ? '' : `; or replace it: foliopipe publish ${id}`;
  const message = `run ${id}: ${path} ${isOther}`;
  const facts = { run: id, path };
  if (prunedAt !== null) {
    throw new ConfigError('OUTPUT_CHANGED', message, {
      hint: 'the results of the run are removed (retention.results, or runs prune), so it cannot be written again; foliopipe run --new replaces it, sends each record again that has no stored answer (reuse.maxAge), and pays for it',
      facts,
    });
  }
  throw new ConfigError('OUTPUT_CHANGED', message, {
    hint: `keep what is there under another name and type the same command again${orPublish}`,
    facts,
  });
}

type Content = Pick<PublishedFile, 'bytes' | 'sha256'>;

function isSameContent(a: Content, b: Content): boolean {
  return a.bytes === b.bytes && a.sha256 === b.sha256;
}
