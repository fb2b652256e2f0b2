/** What permits for folios promise, whether one process counts them or an account does. */
import { expect, it, onTestFinished } from 'vitest';
import type { Permits } from '../../src/streams/permits.js';

export interface PermitsHarness {
  readonly permits: Permits;
  /** The name of the permit of a chunk. */
  nameOf(chunk: number): string;
  /** The chunk is being sent. */
  begin(chunk: number): Promise<void>;
  /** The service opens its folio. */
  accept(chunk: number): Promise<void>;
  /** It was not sent after all. */
  drop(chunk: number): Promise<void>;
  /** The folio is finished. */
  finish(chunk: number): Promise<void>;
  /** Waits until somebody waits for a permit. */
  waits(): Promise<void>;
}

/** @param open gives permits for the chunks 1 to 9 of a run. */
export function permitsContract(name: string, open: (count: number) => Promise<PermitsHarness>): void {
  const begin = async (count: number) => {
    const harness = await open(count);
    const controller = new AbortController();
    const patience = controller.signal;
    // Those that still wait ask no more.
    onTestFinished(() => controller.abort());
    const { permits, nameOf } = harness;
    const got: number[] = [];
    const acquire = (...chunks: number[]) => {
      for (const chunk of chunks) {
        permits.acquire(nameOf(chunk), patience).then(
          () => got.push(chunk),
          () => undefined,
        );
      }
    };
    /** These chunks and no others have got a permit since the last call. */
    const expectGot = async (...chunks: number[]) => {
      if (chunks.length === 0) await harness.waits();
      await expect.poll(() => got, { timeout: 10_000, interval: 5 }).toEqual(chunks);
      got.length = 0;
    };
    const release = async (chunk: number) => permits.release(nameOf(chunk));
    const send = async (...chunks: number[]) => {
      for (const chunk of chunks) {
        await harness.begin(chunk);
        await harness.accept(chunk);
      }
    };
    return { ...harness, patience, acquire, expectGot, release, send };
  };

  it(`${name}: are given up to their count, then to the caller that has waited longest`, async () => {
    const { acquire, release, expectGot } = await begin(2);
    acquire(1, 2, 3, 4);
    await expectGot(1, 2);
    await release(2);
    await expectGot(3);
    await release(1);
    await expectGot(4);
  });

  it(`${name}: are held once by each name, released once, and taken again`, async () => {
    const { acquire, release, expectGot } = await begin(1);
    acquire(1);
    await expectGot(1);
    acquire(1);
    await expectGot(1);
    await release(7);
    await release(1);
    await release(1);
    acquire(1);
    await expectGot(1);
    acquire(2);
    await expectGot();
  });

  it(`${name}: stay with an open folio until it is finished`, async () => {
    const { acquire, send, finish, expectGot } = await begin(2);
    acquire(1, 2, 3);
    await expectGot(1, 2);
    await send(1, 2);
    await expectGot();
    await finish(2);
    await expectGot(3);
  });

  it(`${name}: an abort ends the wait with its reason and costs none`, async () => {
    const { acquire, release, permits, nameOf, expectGot } = await begin(1);
    acquire(1);
    await expectGot(1);
    const controller = new AbortController();
    const waiting = permits.acquire(nameOf(2), controller.signal).catch((error: unknown) => error);
    acquire(3);
    await expectGot();
    controller.abort(new Error('stop'));
    expect(await waiting).toBe(controller.signal.reason);
    await expect(permits.acquire(nameOf(4), controller.signal)).rejects.toThrow('stop');
    await release(1);
    await expectGot(3);
  });

  it(`${name}: none is left to wait for when all are kept`, async () => {
    const { acquire, send, permits, nameOf, expectGot, patience } = await begin(2);
    acquire(1, 2);
    await expectGot(1, 2);
    await send(1, 2);
    for (const chunk of [1, 2]) await permits.keep(nameOf(chunk));
    const waiting = permits.acquire(nameOf(3), patience);
    expect(await waiting).toBe(false);
  });

  it(`${name}: are fewer when the service refuses a second time to open more, asked by one alone`, async () => {
    const one = await begin(5);
    const { acquire, send, permits, nameOf, drop, release, expectGot } = one;
    acquire(1, 2, 3);
    await expectGot(1, 2, 3);
    await send(1, 2);
    await one.begin(3);
    expect(await permits.refused!(nameOf(3))).toBe(true);
    acquire(4);
    await expectGot();
    expect(await permits.refused!(nameOf(3))).toBe(false);
    await drop(3);
    await release(3);
    await expectGot();
    await one.finish(1);
    await expectGot(4);
    // As many as the service has admitted are open.
    acquire(5);
    await expectGot();
    await one.finish(2);
    await expectGot(5);
  });

  it(`${name}: are as many as before when the service opens the refused folio then`, async () => {
    const one = await begin(3);
    const { acquire, send, permits, nameOf, expectGot } = one;
    acquire(1, 2);
    await expectGot(1, 2);
    await send(1);
    await one.begin(2);
    expect(await permits.refused!(nameOf(2))).toBe(true);
    acquire(3);
    await expectGot();
    await one.accept(2);
    await expectGot(3);
  });
}
