/** With any delays and failures, no item is lost or doubled, and never are more in flight than the limit. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { mapConcurrent } from '../../src/streams/map-concurrent.js';
import { forTime } from '../helpers/properties/for-time.js';

const turn = () => new Promise((resolve) => setImmediate(resolve));

const step = fc.record({
  sourceTurns: fc.nat(3),
  workTurns: fc.nat(4),
  consumerTurns: fc.nat(2),
  end: fc.constantFrom('result', 'result', 'result', 'nothing'),
});

async function wait(turns: number): Promise<void> {
  for (let i = 0; i < turns; i++) await turn();
}

it('every item is worked on once and each result leaves once', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { maxLength: 20 }),
      fc.integer({ min: 1, max: 5 }),
      async (steps, bound) => {
        const worked: number[] = [];
        let inWork = 0;
        const source = async function* () {
          for (const [item, { sourceTurns }] of steps.entries()) {
            await wait(sourceTurns);
            yield item;
          }
        };
        const work = async (item: number) => {
          worked.push(item);
          expect(++inWork).toBeLessThanOrEqual(bound);
          await wait(steps[item]!.workTurns);
          inWork -= 1;
          return steps[item]!.end === 'result' ? item : undefined;
        };
        const found: number[] = [];
        for await (const item of mapConcurrent(source(), bound, work)) {
          found.push(item);
          await wait(steps[item]!.consumerTurns);
        }
        const all = steps.map((_, item) => item);
        expect(worked).toEqual(all);
        expect(found.sort((a, b) => a - b)).toEqual(all.filter((item) => steps[item]!.end === 'result'));
      },
    ),
    forTime(1_500),
  );
});

it('the first failure is thrown once nothing is in flight, and each result leaves at most once', async () => {
  const failing = fc.record({ work: fc.nat(4), source: fc.nat(3), fails: fc.boolean() });
  await fc.assert(
    fc.asyncProperty(
      fc.array(failing, { minLength: 1, maxLength: 15 }),
      fc.integer({ min: 1, max: 4 }),
      fc.option(fc.nat(10), { nil: Infinity }),
      async (steps, bound, leaveAfter) => {
        let inWork = 0;
        let closed = false;
        let firstFailure: unknown;
        const source = async function* () {
          try {
            for (const [item, { source: turns }] of steps.entries()) {
              await wait(turns);
              yield item;
            }
          } finally {
            closed = true;
          }
        };
        const work = async (item: number) => {
          inWork += 1;
          await wait(steps[item]!.work);
          inWork -= 1;
          if (!steps[item]!.fails) return item;
          const error = new Error(`item ${item}`);
          firstFailure ??= error;
          throw error;
        };
        const found: number[] = [];
        let thrown: unknown;
        try {
          for await (const item of mapConcurrent(source(), bound, work)) {
            found.push(item);
            if (found.length > leaveAfter) break;
          }
        } catch (error) {
          thrown = error;
        }
        expect(inWork).toBe(0);
        expect(closed).toBe(true);
        expect(new Set(found).size).toBe(found.length);
        expect(found.every((item) => !steps[item]!.fails)).toBe(true);
        if (found.length <= leaveAfter) expect(thrown).toBe(firstFailure);
        else expect(thrown).toBeUndefined();
      },
    ),
    forTime(1_500),
  );
});
