/** The limits of a run: open folios and requests a second, of only this process or of a shared account. */
import type { RequestLimiter } from '../../api/rate-limiter.js';
import { SharedLimiter } from '../../api/shared-limiter.js';
import type { Config } from '../../config/schema.js';
import type { Logger } from '../../logger.js';
import { countOf, formatDuration } from '../../quantities.js';
import type { RunMeasure } from '../../report/measure-run.js';
import { type Clock, systemClock } from '../../streams/clock.js';
import { createPermits, type Permits } from '../../streams/permits.js';
import { createSharedPermits, type PermitAnswer } from '../../streams/shared-permits.js';
import type { Milliseconds } from '../../types.js';
import type { RunOptions } from '../run-options.js';
import type { OpenState } from './open-state.js';

interface Limits {
  readonly folios: Permits;
  /** Undefined: the client limits its requests itself. */
  readonly requests: RequestLimiter | undefined;
}

interface LimitsContext {
  readonly logger: Logger;
  readonly measure: RunMeasure;
  readonly clock: Clock;
}

/**
 * @param given limits of the caller, which take precedence.
 * @param service the identity of the service.
 */
export function openLimits(
  { pipeline, concurrency: { folios }, service: { requestsPerSecond } }: Config,
  service: string,
  account: OpenState['account'],
  given: RunOptions['limits'],
  context: LimitsContext,
): Limits {
  const shared = account?.({ service, pipeline, folios, perSecond: requestsPerSecond });
  const report = createLimitReporter(folios, context);
  return {
    folios:
      given?.folios ??
      (shared === undefined
        ? createPermits(folios, undefined, (limit) => report(limit, limit < folios))
        : createSharedPermits(shared.permits, {
            clock: context.clock,
            onAnswer: createWaitReporter(service, report, context),
          })),
    requests: given?.requests ?? (shared && new SharedLimiter(shared.slots, requestsPerSecond, monotonic)),
  };
}

/**
 * The limit of requests for work without a lease. It obeys the limit of the account, and its own limit only affects it.
 * @returns undefined: the client limits its requests itself.
 */
export function openRequestLimit(
  { pipeline, concurrency: { folios }, service: { requestsPerSecond: perSecond } }: Config,
  service: string,
  account: OpenState['account'],
): RequestLimiter | undefined {
  const shared = account?.({ service, pipeline, folios, perSecond });
  return shared && new SharedLimiter(shared.slots, perSecond, monotonic);
}

const monotonic: Clock = { now: () => performance.now(), sleep: systemClock.sleep };

/** Logs and shows how many folios may be open, when that has changed. */
function createLimitReporter(folios: number, { logger, measure }: LimitsContext) {
  let reported = folios;
  return (limit: number, isRefused: boolean) => {
    if (limit === reported) return;
    reported = limit;
    measure.admit(isRefused && limit < folios ? limit : null);
    const most = `up to ${countOf(limit, 'folio')} ${limit === 1 ? 'is' : 'are'} open now`;
    const reason = isRefused
      ? 'the service has refused more'
      : 'another pipeline of the account allows no more';
    const why = limit < folios ? `, not ${folios}: ${reason}` : '';
    logger.info({ folios, admitted: limit }, `${most}${why}`);
  };
}

const FIRST_LOGGED: Milliseconds = 60_000;

/** Logs a wait for a permit after a minute, and less and less often while it lasts. */
function createWaitReporter(
  service: string,
  report: ReturnType<typeof createLimitReporter>,
  { logger, clock }: LimitsContext,
) {
  let since: number | undefined;
  let loggedAfter = FIRST_LOGGED;
  return ({ limit, admitted, granted, open, ahead }: PermitAnswer, isWaiting: boolean) => {
    report(limit, admitted !== null && limit >= admitted);
    if (!isWaiting || granted.length > 0) {
      [since, loggedAfter] = [undefined, FIRST_LOGGED];
      return;
    }
    const now = clock.now();
    since ??= now;
    if (now - since < loggedAfter) return;
    loggedAfter *= 4;
    const before = ahead === 0 ? '' : `, and ${countOf(ahead, 'pipeline')} come before this one`;
    logger.info(
      { service, limit, open, ahead },
      `no permit for ${formatDuration(now - since)}: ${open} of ${countOf(limit, 'folio')} of the account ${service} are open or in doubt${before}; foliopipe status says whose they are`,
    );
  };
}
