/** Manages the answers that later runs take: shows, removes, gives up and imports them. */
import {
  type Config,
  checkCall,
  type ForgetWhat,
  type Forgotten,
  forgetAnswers,
  type ImportedAnswers,
  type ImportOptions,
  importAnswers,
  openStateReader,
  pruneAnswers,
  type RunOptions,
  type ShownAnswers,
  showAnswers,
  withAnswers,
  withStores,
} from '../src/index.js';

/** The options that the functions for stored answers share. */
export type ReuseOptions = Pick<RunOptions, 'signal' | 'logger' | 'clock' | 'checkpoint' | 'answers'>;

/** Reports on all stored answers of the state folder. Changes nothing, takes no lock, and needs no service. */
export async function showReuse(
  config: Config,
  options: Pick<ReuseOptions, 'checkpoint' | 'clock' | 'answers'> = {},
): Promise<ShownAnswers> {
  checkCall('showReuse', { config, options });
  const { checkpoint, clock, answers } = options;
  const now = clock?.now() ?? Date.now();
  const reader = checkpoint ?? (await openStateReader(config));
  try {
    return await withStores(config, async (stores) =>
      showAnswers(config, reader, answers ?? stores.answers, now),
    );
  } finally {
    if (checkpoint === undefined) await reader?.close();
  }
}

/** Which answers `pruneReuse` removes. */
export interface PruneReuseOptions extends ReuseOptions {
  /** Only report what would be removed. */
  readonly dryRun?: boolean | undefined;
}

/** What `pruneReuse` has removed. */
export interface PrunedAnswers {
  /** Ids of the runs and imports whose answers were removed. */
  readonly runs: readonly string[];
  readonly successful: number;
  readonly failed: number;
  readonly bytes: number;
}

/**
 * Removes the segments of this pipeline in which every answer is older than `reuse.maxAge`, or `reuse.failedAge` for
 * FAILED ones, and what interrupted processes have left. A run does this when it is done.
 */
export async function pruneReuse(config: Config, options: PruneReuseOptions = {}): Promise<PrunedAnswers> {
  checkCall('pruneReuse', { config, options });
  return withAnswers(config, options, async ({ checkpoint, answers, clock }) => {
    const terms = { now: clock.now(), dryRun: options.dryRun ?? false };
    const removed = await pruneAnswers({ checkpoint, answers, config }, terms);
    return {
      runs: removed.map(({ run }) => run),
      successful: removed.reduce((sum, { successful }) => sum + successful, 0),
      failed: removed.reduce((sum, { failed }) => sum + failed, 0),
      bytes: removed.reduce((sum, { bytes }) => sum + bytes, 0),
    };
  });
}

/** Which answers `forgetReuse` forgets, and how. */
export type ForgetOptions = ReuseOptions & { readonly what: ForgetWhat };

/** Gives up stored answers: their records are bought again when they are in a source. */
export async function forgetReuse(config: Config, given: ForgetOptions): Promise<Forgotten> {
  checkCall('forgetReuse', { config, needs: given, what: given?.what });
  const { what, ...options } = given;
  return withAnswers(config, options, async ({ checkpoint, answers, copies, clock, signal }) =>
    forgetAnswers({ checkpoint, answers, copies, signal, now: clock.now() }, config, what),
  );
}

/** Imports answers that were bought before: an output of foliopipe, or any CSV with the sent columns and the answers. */
export async function importReuse(
  config: Config,
  options: ReuseOptions & ImportOptions,
): Promise<ImportedAnswers> {
  checkCall('importReuse', { config, needs: options, path: options?.path });
  return withAnswers(config, options, async ({ checkpoint, answers, clock, signal }) =>
    importAnswers({ checkpoint, answers, signal, now: clock.now() }, config, options),
  );
}
