import { getEventListeners } from 'node:events';
import { setTimeout as wait } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { withAnySignal, withTimeLimit } from '../../src/streams/time-limit.js';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

describe('work with a time limit', () => {
  it('ends after the time, also when garbage was collected meanwhile', async () => {
    const endOf = (signal: AbortSignal) =>
      new Promise<string>((resolve) =>
        signal.addEventListener('abort', () => resolve((signal.reason as Error).name)),
      );
    const { signal } = new AbortController();
    const limited = withTimeLimit(signal, 1_000, endOf);
    const within = withTimeLimit(signal, 60_000, (outer) => withTimeLimit(outer, 1_000, endOf));
    for (let times = 0; times < 4; times++) {
      await wait(20);
      collectGarbage();
    }
    expect(await Promise.all([limited, within])).toEqual(['TimeoutError', 'TimeoutError']);
  });

  it('ends with the reason of the given signal', async () => {
    const controller = new AbortController();
    const reason = new Error('stopped');
    const work = withTimeLimit(controller.signal, 60_000, async (signal) => {
      controller.abort(reason);
      return signal.reason;
    });
    expect(await work).toBe(reason);
  });
});

describe('work under any of several signals', () => {
  const [first, second] = [0, 1].map(() => new AbortController()) as [AbortController, AbortController];
  const signals = [first.signal, second.signal];

  it('leaves nothing with them when it has ended', async () => {
    const work = (result: Promise<number>) => withAnySignal(signals, () => result);
    expect(await work(Promise.resolve(1))).toBe(1);
    await expect(work(Promise.reject(new Error('failed')))).rejects.toThrow('failed');
    for (const signal of signals) expect(getEventListeners(signal, 'abort')).toEqual([]);
  });

  it('may listen as often as it likes: Node warns of no leak', async () => {
    const warnings: Error[] = [];
    const hear = (warning: Error) => void warnings.push(warning);
    process.on('warning', hear);
    await withAnySignal([new AbortController().signal], async (signal) => {
      for (let times = 0; times < 20; times++) signal.addEventListener('abort', () => times);
      await wait(1);
    });
    process.off('warning', hear);
    expect(warnings).toEqual([]);
  });

  it('ends with the reason of the one that aborts, also if that was before', async () => {
    const work = () =>
      withAnySignal(signals, async (signal) => {
        if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve));
        return signal.reason;
      });
    const working = work();
    const reason = new Error('stopped');
    second.abort(reason);
    expect(await working).toBe(reason);
    expect(await work()).toBe(reason);
  });
});
