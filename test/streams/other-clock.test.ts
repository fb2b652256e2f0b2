import fc from 'fast-check';
import { expect, it } from 'vitest';
import { OtherClock } from '../../src/streams/other-clock.js';

it("tells a time of the other clock between two bounds, whatever the way takes and however that clock's speed differs", () =>
  fc.assert(
    fc.property(
      fc.double({ min: -0.0009, max: 0.0009, noNaN: true }),
      fc.array(fc.record({ pause: fc.nat(5_000), there: fc.nat(300), stay: fc.nat(50), back: fc.nat(300) }), {
        minLength: 1,
        maxLength: 30,
      }),
      (gain, exchanges) => {
        const other = (local: number) => 1e12 + local * (1 + gain);
        const clock = new OtherClock();
        let now = 0;
        for (const { pause, there, stay, back } of exchanges) {
          const asked = now + pause;
          now = asked + there + stay + back;
          const receivedAt = other(asked + there);
          const answeredAt = other(asked + there + stay);
          clock.hear({ asked, answered: now, receivedAt, answeredAt });
          const { earliest, latest } = clock.local(other(now));
          // What the clocks differ while the answer is on its way.
          expect(earliest).toBeLessThanOrEqual(now + 1);
          expect(latest).toBeGreaterThanOrEqual(now - 1);
          // Never worse than what this answer alone tells.
          expect(latest - earliest).toBeLessThanOrEqual(there + back + 1);
        }
      },
    ),
  ));

it('believes the newest answer alone when the other clock was set', () => {
  const clock = new OtherClock();
  clock.hear({ asked: 0, answered: 2, receivedAt: 1_001, answeredAt: 1_001 });
  clock.hear({ asked: 10, answered: 14, receivedAt: 500_012, answeredAt: 500_012 });
  expect(clock.local(500_012)).toEqual({ earliest: 10, latest: 14 });
});
