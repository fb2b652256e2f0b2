/** Faults depend on the seed and the call alone, not on other calls or their order. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Call, decideFaults } from '../../src/service/faults/decide-faults.js';
import { faultNames, isFolioFault, operationsOf } from '../../src/service/faults/fault.js';
import { parseFaults } from '../../src/service/faults/read-faults.js';
import { OPERATIONS } from '../../src/service/http/operation.js';
import { forTime } from '../helpers/properties/for-time.js';

const number = fc.integer({ min: 1, max: 8 });
const numbers = fc.oneof(
  number,
  fc.array(number, { minLength: 1, maxLength: 3 }),
  fc.record({ from: number, every: number }),
);
const fault = fc.constantFrom(
  { status: 503, retryAfter: '30s' },
  { stall: '2m', html: true },
  { cut: 'after-accepting' },
  { records: { missing: 1 }, brokenBase64: true },
  { counts: { successful: 1, total: 1 } },
  { forget: true },
  { neverFinishes: true },
  { expire: '1h', truncate: 0.5 },
);
const rule = fc.record(
  {
    calls: numbers,
    folioCalls: numbers,
    folio: numbers,
    between: fc.record({ after: fc.constantFrom('1m', '5m'), until: fc.constantFrom('6m', '9m') }),
    probability: fc.constantFrom(0, 0.3, '50%', 1),
    fault,
  },
  { requiredKeys: ['fault'] },
);
const plan = fc
  .record({ seed: fc.nat(), rules: fc.array(rule, { maxLength: 4 }) })
  .map((given) => parseFaults(given));
const call: fc.Arbitrary<Call> = fc
  .record({
    operation: fc.constantFrom(...OPERATIONS),
    number,
    elapsed: fc.integer({ min: 0, max: 600_000 }),
    ordinal: fc.option(number, { nil: undefined }),
    folioCall: number,
  })
  .map(({ ordinal, folioCall, ...rest }) => {
    const isOfFolio = rest.operation === 'track' || rest.operation === 'download';
    return isOfFolio && ordinal !== undefined ? { ...rest, folio: { ordinal, call: folioCall } } : rest;
  });
const budget = forTime(400, 500);

describe('decideFaults', () => {
  it('decides a call alike, alone or among others in any order', () => {
    fc.assert(
      fc.property(plan, fc.array(call, { minLength: 1, maxLength: 6 }), (rules, calls) => {
        const forward = calls.map((one) => decideFaults(rules, one));
        const backward = [...calls].reverse().map((one) => decideFaults(rules, one));
        expect(backward.reverse()).toEqual(forward);
      }),
      budget,
    );
  });

  it('decides only what a rule says, of the operations that it can hit', () => {
    fc.assert(
      fc.property(plan, call, (rules, one) => {
        const decided = decideFaults(rules, one);
        for (const name of faultNames(decided)) {
          expect(rules.rules.map((rule) => rule.fault[name])).toContainEqual(decided[name]);
          expect(operationsOf(name, decided)).toContain(one.operation);
        }
      }),
      budget,
    );
  });

  it('decides what belongs to a folio once for all its calls, where the rule names no calls', () => {
    const always = rule.map(({ fault, folio, probability }) => ({
      fault,
      ...(folio !== undefined && { folio }),
      ...(probability !== undefined && { probability }),
    }));
    const rules = fc
      .record({ seed: fc.nat(), rules: fc.array(always, { maxLength: 4 }) })
      .map((given) => parseFaults(given));
    fc.assert(
      fc.property(rules, call, number, (given, one, later) => {
        fc.pre(one.folio !== undefined);
        const again = { ...one, number: one.number + later, folio: { ...one.folio!, call: later } };
        const lasting = (fault: object) =>
          Object.entries(fault).filter(([name]) => isFolioFault(name as 'forget'));
        expect(lasting(decideFaults(given, again))).toEqual(lasting(decideFaults(given, one)));
      }),
      budget,
    );
  });

  it('hits about as many calls as the probability says', () => {
    fc.assert(
      fc.property(fc.nat(), (seed) => {
        const rules = parseFaults({ seed, rules: [{ probability: '20%', fault: { status: 500 } }] });
        const hit = Array.from({ length: 1000 }, (_, index) =>
          decideFaults(rules, { operation: 'track', number: index + 1, elapsed: 0 }),
        ).filter(({ status }) => status === 500);
        expect(hit.length).toBeGreaterThan(120);
        expect(hit.length).toBeLessThan(280);
      }),
      forTime(1_000, 20),
    );
  });
});
