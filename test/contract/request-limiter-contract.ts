/** What every request limiter promises, whether one process has it or several share an account. */
import { expect, it } from 'vitest';
import type { RequestLimiter } from '../../src/api/rate-limiter.js';
import type { Operation } from '../../src/api/requests.js';
import { mostInASecond } from '../helpers/api/slot-account.js';
import { noSignal } from '../helpers/api/test-client.js';

export interface LimiterHarness {
  /** Limiters that keep one limit together: of one process, or of several. */
  open(perSecond: number): Promise<readonly RequestLimiter[]>;
  /** Lets time pass, by the clock of `performance.now()`. */
  pass(time: number): Promise<void>;
}

export function requestLimiterContract(name: string, { open, pass }: LimiterHarness): void {
  /** Waits for all of it while time passes. */
  const all = async (work: readonly Promise<void>[]) => {
    let isDone = false;
    const done = Promise.all(work).finally(() => {
      isDone = true;
    });
    done.catch(() => undefined);
    while (!isDone) await pass(5);
    await done;
  };
  /** Sends one request, which first opens a connection for a while. */
  const sender = (limiter: RequestLimiter, sent: number[] = []) => ({
    sent,
    send: async (connectTime = 0, operation: Operation = 'track', signal = noSignal) => {
      const written = await limiter.wait(signal, operation);
      if (connectTime > 0) await new Promise((resolve) => setTimeout(resolve, connectTime));
      await written?.();
      sent.push(performance.now());
      void written?.(true);
    },
  });

  it(`${name}: no second has more requests than allowed, wherever it begins`, async () => {
    const sent: number[] = [];
    const limiters = (await open(30)).map((limiter) => sender(limiter, sent));
    const burst = (count: number) =>
      Array.from({ length: count }, (_, nth) =>
        limiters[nth % limiters.length]!.send(nth % 5 === 0 ? 17 : 0),
      );
    await all(burst(20));
    await pass(450);
    await all(burst(50));
    expect(sent).toHaveLength(70);
    expect(mostInASecond(sent)).toBeLessThanOrEqual(30);
  });

  it(`${name}: a pause holds those that wait already, and a shorter one does not end it`, async () => {
    const limiters = await open(10);
    const senders = limiters.map((limiter) => sender(limiter));
    const waiting = senders.flatMap(({ send }) => Array.from({ length: 10 }, () => send()));
    await pass(300);
    const from = performance.now();
    limiters[0]!.pause(900);
    limiters[0]!.pause(20);
    await all(waiting);
    const after = senders.flatMap(({ sent }) => sent).filter((time) => time > from + 200);
    // The other processes hear of it a moment later.
    expect(Math.min(...after) - from).toBeGreaterThanOrEqual(900);
  });

  it(`${name}: uploads start before the others that wait, and these come first, first served`, async () => {
    const { send } = sender((await open(4))[0]!);
    await all(Array.from({ length: 4 }, () => send()));
    const started: string[] = [];
    const operations = ['download', 'track', 'upload', 'download', 'upload'] as const;
    await all(
      operations.map((operation, nth) =>
        send(0, operation).then(() => void started.push(`${operation} ${nth}`)),
      ),
    );
    expect(started).toEqual(['upload 2', 'upload 4', 'download 0', 'track 1', 'download 3']);
  });

  it(`${name}: an abort ends the wait with its reason and leaves the turn to the next`, async () => {
    const { send, sent } = sender((await open(1))[0]!);
    await all([send()]);
    const controller = new AbortController();
    const left = send(0, 'track', controller.signal).catch((error: unknown) => error);
    const next = send();
    await pass(100);
    controller.abort(new Error('stop'));
    expect(await left).toBe(controller.signal.reason);
    await expect(send(0, 'track', controller.signal)).rejects.toThrow('stop');
    await all([next]);
    // A slot that was taken for the one that left serves the next.
    expect(sent[1]! - sent[0]!).toBeLessThan(2_000);
  });

  it(`${name}: a request that ends before it is written holds up no other for long`, async () => {
    const [limiter] = await open(2);
    const ended = async () => {
      const written = await limiter!.wait(noSignal, 'track');
      void written?.(true);
    };
    await all([ended(), ended()]);
    const { send, sent } = sender(limiter!);
    await all([send(), send(), send()]);
    expect(mostInASecond(sent)).toBeLessThanOrEqual(2);
  });
}
