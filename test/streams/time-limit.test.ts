import { setTimeout as wait } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { withTimeLimit } from '../../src/streams/time-limit.js';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

describe('a signal with a time limit', () => {
  it('aborts after the time, also when garbage was collected meanwhile', async () => {
    const limited = withTimeLimit(new AbortController().signal, 1_000);
    const within = withTimeLimit(withTimeLimit(new AbortController().signal, 60_000), 1_000);
    const ended: unknown[] = [];
    for (const signal of [limited, within]) {
      signal.addEventListener('abort', () => ended.push((signal.reason as Error).name));
    }
    for (let times = 0; times < 4; times++) {
      await wait(20);
      collectGarbage();
    }
    await expect.poll(() => ended, { timeout: 5_000 }).toEqual(['TimeoutError', 'TimeoutError']);
  });

  it('aborts with the reason of the given signal', () => {
    const controller = new AbortController();
    const limited = withTimeLimit(controller.signal, 60_000);
    const reason = new Error('stopped');
    controller.abort(reason);
    expect(limited.reason).toBe(reason);
  });
});
