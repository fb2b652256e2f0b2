/** Checks where a run writes, before it begins. Changes nothing, and leaves nothing behind. */
import { realpath } from 'node:fs/promises';
import { dirname, join, sep } from 'node:path';
import { outputLockNames } from '../../checkpoint/sqlite/output-lock.js';
import type { Config } from '../../config/schema.js';
import { isS3 } from '../../config/sections/output-names.js';
import { STREAM } from '../../config/sections/values.js';
import { ConfigError } from '../../errors.js';
import { nearestFolder } from '../../files/output-rights.js';
import type { OutputNames, OutputStore } from '../../files/output-store.js';
import { METRICS, PAGE, placeTaken, refuseForeignReport } from '../../files/report-place.js';
import { workFolderOf } from '../../files/work-file.js';
import { refuseOtherPipeline } from '../../report/output-owner.js';
import { publicationNames } from '../../report/publication-files.js';
import { futureMatches } from '../../source/future-files.js';

/** Everything that a run writes where its output lies: the files of a publication, and those of the output's lock. */
export function outputNames(output: string, stateDir: string): OutputNames {
  const names = publicationNames(output, stateDir);
  return isS3(output) ? names : { ...names, lock: outputLockNames(names.output) };
}

/**
 * Checks that a run could put its output in place, and that its source would not match what it writes.
 * @param paths the files of the source.
 * @throws ConfigError as `checkOutputPlace` and `OutputStore.checkWritable`; `OUTPUT_OF_OTHER_PIPELINE`.
 */
export async function checkOutput(
  config: PlaceConfig & Pick<Config, 'pipeline' | 'service'>,
  store: OutputStore,
  paths: readonly string[],
): Promise<void> {
  const { path } = config.output;
  await checkOutputPlace(config, store, paths);
  await store.checkWritable(outputNames(path, config.stateDir));
  const writer = { pipeline: config.pipeline, isTrial: config.service.embedded };
  await refuseOtherPipeline(store, path, writer);
}

type PlaceConfig = Pick<Config, 'source' | 'output' | 'stateDir' | 'ownFiles' | 'report' | 'load'>;

/**
 * Checks that a publication would replace nothing that foliopipe needs: the source, its config, its state.
 * @param paths the files of the source.
 * @throws ConfigError as `OutputStore.check`; `OUTPUT_IN_STATE`, `OUTPUT_IN_SOURCE`, `STATE_IN_SOURCE`,
 *   `REPORT_PLACE_TAKEN`.
 */
export async function checkOutputPlace(
  config: PlaceConfig,
  store: Pick<OutputStore, 'check'>,
  paths: readonly string[],
): Promise<void> {
  const database = join(config.stateDir, 'checkpoint.db');
  const own = [...config.ownFiles, database, `${database}-wal`, `${database}-shm`];
  await store.check(outputNames(config.output.path, config.stateDir), paths, own);
  if (!isS3(config.output.path)) await refuseState(config);
  await checkReports(config);
  await refuseOwnFiles(config, paths);
}

/** The schema has compared the paths of both, but a link may lead from one into the other. */
async function refuseState({ output: { path }, stateDir }: PlaceConfig): Promise<void> {
  const state = await stateAround(workFolderOf(path, stateDir), stateDir);
  if (state === undefined) return;
  throw new ConfigError(
    'OUTPUT_IN_STATE',
    `output.path ${path} lies in stateDir (${state}), whose files belong to foliopipe`,
    { hint: 'write the output into another folder', facts: { path, state } },
  );
}

/** Checks the files of `report` before anything is paid: each replaces an earlier report, or nothing. */
async function checkReports({ report, ownFiles, load, stateDir }: PlaceConfig): Promise<void> {
  const { html, textfile } = report;
  for (const [kind, path] of [[PAGE, html] as const, [METRICS, textfile] as const]) {
    if (path === null) continue;
    if ([...ownFiles, load?.into?.file].includes(path)) {
      throw placeTaken(kind.key, path, 'is a file that foliopipe needs itself');
    }
    const state = await stateAround(dirname(path), stateDir);
    if (state !== undefined) {
      throw placeTaken(kind.key, path, `lies in stateDir (${state}), whose files belong to foliopipe`);
    }
    await refuseForeignReport(kind, path);
  }
}

/** The state folder without links, if a folder lies in it; undefined if not, or if that is not known. */
async function stateAround(folder: string, stateDir: string): Promise<string | undefined> {
  const inner = await realFolder(folder);
  const state = await realFolder(stateDir);
  if (inner === undefined || state === undefined) return undefined;
  return `${inner}${sep}`.startsWith(`${state}${sep}`) ? state : undefined;
}

/** The path of the folder without links, even if it is not made yet; undefined if that is not known. */
async function realFolder(folder: string): Promise<string | undefined> {
  try {
    const { path, missing } = await nearestFolder(folder);
    return join(await realpath(path), ...missing);
  } catch {
    return undefined;
  }
}

/**
 * Refuses a source pattern that would match what foliopipe itself writes: the next run would read it as its source.
 * @param paths the files of the source. A source that is the name of one file matches nothing else.
 * @throws ConfigError `OUTPUT_IN_SOURCE`, `STATE_IN_SOURCE`.
 */
async function refuseOwnFiles(
  { source, output, stateDir, report }: Pick<PlaceConfig, 'source' | 'output' | 'stateDir' | 'report'>,
  paths: readonly string[],
): Promise<void> {
  const pattern = source.path;
  if (pattern === null || pattern === STREAM) return;
  if (paths.length === 1 && paths[0] === pattern) return;
  const { output: path, beside, local } = outputNames(output.path, stateDir);
  const ofState = ['chunk-000001.csv', 'part-000001-successful-0-0000000000000000.csv.gz'].map((name) =>
    join(stateDir, 'runs', 'RUN', name),
  );
  const reports = [report.html, report.textfile].filter((file) => file !== null);
  const [matched] = await futureMatches(pattern, [path, ...beside, ...local, ...ofState, ...reports]);
  if (matched === undefined) return;
  const isState = ofState.includes(matched);
  const isReport = reports.includes(matched);
  const key = isState ? 'stateDir' : isReport ? 'the report' : 'output.path';
  const what = isState
    ? `files in stateDir, such as ${matched}`
    : `what is written for the ${isReport ? 'report' : 'output'}, such as ${matched}`;
  throw new ConfigError(
    isState ? 'STATE_IN_SOURCE' : 'OUTPUT_IN_SOURCE',
    `source.path ${pattern} also matches ${what}: the next run would read it as its source`,
    {
      hint: `give source.path a pattern that does not match it, or set ${key} to a folder that the pattern does not reach`,
      facts: { pattern, path: matched },
    },
  );
}
