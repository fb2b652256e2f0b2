/**
 * The listeners that a caller passes: its `onProgress` and its logger. Neither can stop or fail the work. Every entry
 * of the library guards them; a guarded one stays as it is.
 */
import { type Logger, silentLogger } from '../logger.js';
import { thrownText } from '../text.js';
import type { JobEvent, OnProgress } from './events.js';

const guarded = new WeakSet<object>([silentLogger]);

/** The options with listeners that never throw. */
export function guardListeners<
  Options extends { readonly logger?: Logger | undefined; readonly onProgress?: OnProgress | undefined },
>(options: Options): Options {
  const { onProgress } = options;
  if (options.logger === undefined && onProgress === undefined) return options;
  const logger = guardLogger(options.logger);
  return { ...options, logger, ...(onProgress && { onProgress: guardProgress(onProgress, logger) }) };
}

/** The logger; its errors are dropped, because there is nowhere else to report them. Without one, nothing is logged. */
export function guardLogger(logger: Logger = silentLogger): Logger {
  if (guarded.has(logger)) return logger;
  const write = (level: keyof Logger) => (fields: object, message: string) => {
    attempt(
      () => logger[level](fields, message),
      () => undefined,
    );
  };
  const safe = { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') };
  guarded.add(safe);
  return safe;
}

/** The listener. It is not called again after it has thrown, or its promise was rejected; that is logged once. */
function guardProgress(onProgress: OnProgress, logger: Logger): OnProgress {
  if (guarded.has(onProgress)) return onProgress;
  let hasFailed = false;
  const fail = (error: unknown) => {
    if (hasFailed) return;
    hasFailed = true;
    const why = thrownText(error);
    logger.warn({ error: why }, `onProgress has thrown and is called no more; the job goes on: ${why}`);
  };
  const emit = (event: JobEvent) => {
    if (!hasFailed) attempt(() => onProgress(event), fail);
  };
  const isHeard = () => {
    if (hasFailed) return false;
    try {
      return onProgress.isHeard?.() !== false;
    } catch (error) {
      fail(error);
      return false;
    }
  };
  const safe = Object.assign(emit, { isHeard });
  guarded.add(safe);
  return safe;
}

/** Calls a function of the caller, which may also give a promise. */
function attempt(call: () => unknown, fail: (error: unknown) => void): void {
  try {
    const given = call();
    if (given !== undefined) Promise.resolve(given).catch(fail);
  } catch (error) {
    fail(error);
  }
}
