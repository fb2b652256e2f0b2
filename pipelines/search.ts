/** Searches for a single business, outside of any run. It is paid for as one record. */
import { randomBytes } from 'node:crypto';
import {
  budgetAt,
  type Config,
  ConfigError,
  checkCall,
  GuardError,
  openApi,
  openRequestLimit,
  priceOf,
  type RunOptions,
  refuseUnconfirmed,
  reworded,
  type SearchRecord,
  searchAddressMissing,
  searchOnce,
  serviceIdentity,
  withCheckpoint,
} from '../src/index.js';

/** What `search` was answered. */
export interface SearchedBusiness {
  /** The id of the search in the state. */
  readonly search: string;
  readonly pipeline: string;
  /** Any JSON: the interface does not say what the reply holds. */
  readonly answer: unknown;
  /** Whether a local service has answered: nothing was paid then. */
  readonly rehearsal: boolean;
  /** What it has cost; null without `budget.pricePerRecord`. */
  readonly amount: number | null;
  readonly currency: string;
}

/** The options of `search`. */
export type SearchOptions = Pick<
  RunOptions,
  'signal' | 'logger' | 'clock' | 'checkpoint' | 'api' | 'endpoint' | 'proxies' | 'limits' | 'at'
>;

/**
 * Takes no lock: it may be called while a run works. The search counts in the ledger and in `budget.perDay` and
 * `budget.perMonth`.
 * @throws ConfigError `SEARCH_EMPTY` for a blank name, `CONFIG_LEGACY_URL`; GuardError `BUDGET_REACHED` or
 *   `RESTORED_UNCONFIRMED` before anything is sent; AmbiguousUploadError when it may have been accepted: it then counts
 *   as possibly paid.
 */
export async function search(
  config: Config,
  record: SearchRecord,
  options: SearchOptions = {},
): Promise<SearchedBusiness> {
  checkCall('search', { config, record, options });
  const { at = () => undefined } = options;
  if ((record.name ?? '').trim() === '') {
    throw new ConfigError('SEARCH_EMPTY', 'the name to search for is blank', {
      hint: 'name the business: foliopipe search --name TEXT',
    });
  }
  const { embedded, legacyBaseUrl } = config.service;
  if (!embedded && legacyBaseUrl === null && options.api === undefined) throw searchAddressMissing();
  return withCheckpoint(config, options, async ({ checkpoint, clock, logger, signal, account }) => {
    await refuseUnconfirmed(config, {});
    const service = serviceIdentity(config);
    const { requests = openRequestLimit(config, service, account) } = options.limits ?? {};
    const api = openApi(config, { ...options, limits: { requests } });
    try {
      const { pipeline, budget } = config;
      const startedAt = clock.now();
      const id = searchId(startedAt);
      const { answer, rehearsal } = await searchOnce({ api, signal, at }, record, {
        begin: () =>
          checkpoint
            .recordSingleSearchIntent(
              { id, pipeline, service, startedAt },
              { ...budgetAt(budget, startedAt), perRun: null },
            )
            .catch(explainBudget),
        answer: async (reply) => {
          await checkpoint
            .recordSingleSearchEnd(id, { state: 'answered', local: reply.rehearsal })
            // The answer is paid for, so it is returned anyway.
            .catch((error: unknown) =>
              logger.error(
                { search: id },
                `the search was answered, but that could not be recorded, so the ledger counts it as possibly paid: ${String(error)}`,
              ),
            );
          return reply;
        },
        fail: (state) => checkpoint.recordSingleSearchEnd(id, { state }),
      });
      const amount = priceOf(rehearsal ? 0 : 1, budget.pricePerRecord);
      return { search: id, pipeline, answer, rehearsal, amount, currency: budget.currency };
    } finally {
      if (options.api === undefined) await api.close();
    }
  });
}

/** Replaces the hint, which says that the run goes on: a search has nothing to go on with. */
function explainBudget(error: unknown): never {
  if (!(error instanceof GuardError) || error.code !== 'BUDGET_REACHED') throw error;
  throw reworded(error, {
    hint: `nothing was sent: raise budget.${error.facts.cap}, or wait, and run the same command again`,
  });
}

/** A unique id that sorts by time, to the millisecond: `20261121T031002417-4f9c1a`. */
function searchId(at: number): string {
  const time = new Date(at).toISOString().replaceAll(/[-:.Z]/g, '');
  return `${time}-${randomBytes(3).toString('hex')}`;
}
