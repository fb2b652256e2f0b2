/** What every function that works on a state makes of the caller's signal, logger and clock. */
import { expect, it } from 'vitest';
import { withContext } from '../../../src/run/open/open-state.js';

it('gives a signal also where the caller has none, and a logger that never throws', async () => {
  const fail = () => {
    throw new Error('the disk of the log is full');
  };
  const logger = { debug: fail, info: fail, warn: fail, error: fail };
  const given = await withContext({ logger }, async (context) => {
    context.logger.warn({}, 'text');
    return context.signal.aborted;
  });
  expect(given).toBe(false);
});

it('ends with an error of our own where the caller stops it, whatever the reason', async () => {
  const cause = new DOMException('late', 'TimeoutError');
  const stopped = withContext({ signal: AbortSignal.abort(cause) }, async ({ signal }) =>
    signal.throwIfAborted(),
  );
  await expect(stopped).rejects.toMatchObject({ code: 'INTERRUPTED', cause });
});
