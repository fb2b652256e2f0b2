/**
 * Reads whose publication an output is, from the beginning of its manifest or of `_LATEST.json`. If each day or each run
 * has an output of its own, the newest publication may be in another one.
 */
import { basename, dirname } from 'node:path';
import type { Config } from '../config/schema.js';
import { besidePath, isFolder, latestPath, RUN_ID } from '../config/sections/output-names.js';
import { recentPaths } from '../config/sections/output-path.js';
import type { OutputStore } from '../files/output-store.js';

/** The name of the pipeline is among the first lines of a manifest, before anything long. */
const HEAD_BYTES = 64 * 1024;

const RUN = '{run}';
/** How many runs are looked at for each path: the newest ones may have published nothing. */
const RECENT_RUNS = 31;

/** A pipeline and its output; the budget names the time zone of a day. */
export type WritesOutput = Pick<Config, 'pipeline' | 'output' | 'budget'>;

/** The file that names the pipeline of an output, its run and its publication. @param output `output.path`. */
export function ownerPath(output: string): string {
  return isFolder(output) ? latestPath(output) : besidePath(output, 'manifest.json');
}

/**
 * The newest output with a manifest, and the beginning of that; an empty text if there is none. The output of another
 * pipeline counts only at `output.path` itself: several pipelines may put their runs into one folder.
 */
export async function newestInPlace(
  store: Pick<OutputStore, 'read' | 'names'>,
  config: WritesOutput,
  now: number,
): Promise<{ readonly output: string; readonly head: string }> {
  const { path } = config.output;
  for await (const output of recentOutputs(store, config, now)) {
    const head = await readHead(store, output);
    const owner = textIn(head, 'pipeline');
    if (owner === config.pipeline || (owner !== undefined && output === path)) return { output, head };
  }
  return { output: path, head: '' };
}

/**
 * The path of the output of a run, then those of the runs before it, the newest first.
 * @param now epoch milliseconds.
 */
async function* recentOutputs(
  store: Pick<OutputStore, 'names'>,
  config: WritesOutput,
  now: number,
): AsyncGenerator<string> {
  for (const path of recentPaths(config, now)) {
    if (path.includes(RUN)) for (const run of await runsIn(store, path)) yield path.replaceAll(RUN, run);
    else yield path;
  }
}

/** The ids of runs, the newest first: what names in a folder have in the place of the path's `{run}`. */
async function runsIn(store: Pick<OutputStore, 'names'>, path: string): Promise<readonly string[]> {
  // Of `out/{run}/enriched.csv`, the folders in `out`.
  const end = path.indexOf('/', path.indexOf(RUN));
  const upToRun = end < 0 ? path : path.slice(0, end);
  const [before = ''] = basename(upToRun).split(RUN);
  // Ids begin with a time, so their order is that of the runs.
  const id = new RegExp(`^${RUN_ID}`);
  const names = (await store.names?.(dirname(upToRun))) ?? [];
  const found = names.flatMap((name) =>
    name.startsWith(before) ? (id.exec(name.slice(before.length)) ?? []) : [],
  );
  return [...new Set(found)].sort().reverse().slice(0, RECENT_RUNS);
}

/** The beginning of the file that names the owner; empty if there is none. */
export async function readHead(store: Pick<OutputStore, 'read'>, output: string): Promise<string> {
  return Buffer.from((await store.read(ownerPath(output), HEAD_BYTES)) ?? []).toString();
}

/**
 * The value of a key as foliopipe writes it: on a line of its own, which no text within the file can imitate. The time of
 * publication is indented more in a manifest, where it is one of the `times`, than in `_LATEST.json`.
 */
export function textIn(
  manifest: string,
  key: 'pipeline' | 'service' | 'run' | 'publication' | 'status' | 'published',
): string | undefined {
  const indent = key === 'published' ? ' {2,4}' : ' {2}';
  const line = new RegExp(`^${indent}"${key}": ([0-9]+|"(?:[^"\\\\\n]|\\\\.)*")`, 'm');
  const [, value] = line.exec(manifest) ?? [];
  try {
    return value === undefined ? undefined : String(JSON.parse(value));
  } catch {
    return undefined;
  }
}
