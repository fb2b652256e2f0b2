/** Loads the publication of a done run into the database of `load.into`, without the source and the service. */
import {
  type Config,
  ConfigError,
  checkCall,
  checkKnown,
  checkLoadable,
  createOutputStore,
  type Job,
  type LoadReport,
  loadPublication,
  namedRun,
  type OnProgress,
  openLoadTarget,
  publicationOf,
  type RunOptions,
  startJob,
  withState,
} from '../src/index.js';

/** What `load` has done. */
export interface LoadedRun extends LoadReport {
  readonly run: string;
  readonly pipeline: string;
}

/**
 * Loads the last publication of a run. Changes nothing if the table already has that publication.
 * @param id names a done run of the config's pipeline (see `namedRun`).
 * @throws ConfigError `LOAD_MISSING` without `load.into`; `RUN_UNKNOWN`, `RUN_UNFINISHED`; `LOAD_NOT_LOADABLE` for a
 *   rehearsal, and for a partial publication without `load.partial`; the errors of `loadPublication`.
 */
export function load(config: Config, id: string, options: RunOptions = {}): Job<LoadedRun> {
  return startJob(
    options,
    (given) => loadRun(config, id, given),
    () => checkCall('load', { config, run: id, options }),
  );
}

async function loadRun(
  config: Config,
  id: string,
  options: RunOptions & { readonly onProgress: OnProgress },
): Promise<LoadedRun> {
  if (config.load === null || config.load.into === null) throw nothingToLoadInto();
  return withState(config, options, async ({ checkpoint, signal, clock, logger }) => {
    const row = await namedRun(checkpoint, config.pipeline, id);
    checkKnown(row, config.pipeline, id);
    const publication = publicationOf(row);
    checkLoadable(row, publication, config.load!);
    const { output = createOutputStore(config, { signal }), at = () => undefined } = options;
    const loadTarget = openLoadTarget(config, options);
    const progress = { emit: options.onProgress };
    const report = await loadPublication(
      { config, checkpoint, output, loadTarget, signal, clock, at, logger, progress },
      row,
      publication,
    );
    return { run: row.id, pipeline: row.pipeline, ...report! };
  });
}

function nothingToLoadInto(): ConfigError {
  return new ConfigError('LOAD_MISSING', 'the config has no load.into', {
    hint: 'docs/warehouse.md shows how to load into a table; foliopipe load --print DIALECT shows statements for other warehouses',
  });
}
