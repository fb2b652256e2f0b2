/** What every lock of pipelines promises. */
import { describe, expect, it } from 'vitest';
import type { PipelineLock } from '../../src/checkpoint/pipeline-lock.js';
import { LockedError } from '../../src/errors.js';

/**
 * @param withLocks calls `use` with a function that opens a lock; all that it opens are of the same state, and nothing
 *   is held in it at first.
 */
export function lockContract(
  name: string,
  withLocks: (use: (open: () => PipelineLock) => Promise<void>) => Promise<void>,
): void {
  const holder = { pid: 4242, command: 'foliopipe run', since: Date.UTC(2026, 0, 2, 3, 4, 5) };
  const errorOf = (taking: Promise<unknown>) => taking.catch((error: unknown) => error);

  describe(`the lock of a pipeline, ${name}`, () => {
    it('is refused while it is held, naming the holder', () =>
      withLocks(async (open) => {
        const lock = open();
        const held = await lock.take('nightly', holder);
        for (const other of [lock, open()]) {
          const error = await errorOf(other.take('nightly', { ...holder, pid: 1 }));
          expect(error).toBeInstanceOf(LockedError);
          expect(error).toMatchObject({
            code: 'PIPELINE_LOCKED',
            exitCode: 11,
            facts: {
              pipeline: 'nightly',
              pid: 4242,
              command: 'foliopipe run',
              since: '2026-01-02T03:04:05.000Z',
            },
          });
          expect(String(error)).toMatch(/4242.*foliopipe run.*nightly.*2026-01-02T03:04:05/);
        }
        await held.close();
      }));

    it('goes to one of many that ask at once', () =>
      withLocks(async (open) => {
        const answers = await Promise.allSettled(
          Array.from({ length: 8 }, () => open().take('nightly', holder)),
        );
        const taken = answers.filter((answer) => answer.status === 'fulfilled');
        expect(taken).toHaveLength(1);
        await taken[0]!.value.close();
      }));

    it('is free after close, and closing twice does not free it for others', () =>
      withLocks(async (open) => {
        const first = await open().take('nightly', holder);
        await first.close();
        const second = await open().take('nightly', { ...holder, pid: 4343 });
        await first.close();
        expect(await errorOf(open().take('nightly', holder))).toMatchObject({ facts: { pid: 4343 } });
        await second.close();
        await (await open().take('nightly', holder)).close();
      }));

    it('leaves the locks of other pipelines alone', () =>
      withLocks(async (open) => {
        const one = await open().take('nightly', holder);
        const other = await open().take('weekly', holder);
        await one.close();
        expect(await errorOf(open().take('weekly', holder))).toBeInstanceOf(LockedError);
        await (await open().take('nightly', holder)).close();
        await other.close();
      }));
  });
}
