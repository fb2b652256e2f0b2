/** Which calls a rule hits, and how several rules are combined. */
import { describe, expect, it } from 'vitest';
import { type Call, decideFaults } from '../../../src/service/faults/decide-faults.js';
import { parseFaults } from '../../../src/service/faults/read-faults.js';

const decide = (rules: readonly object[], call: Partial<Call>) =>
  decideFaults(parseFaults({ rules }), { operation: 'track', number: 1, elapsed: 0, ...call });

/** The numbers from 1 to 10 of the calls that the rule hits. */
const hits = (rule: object) =>
  Array.from({ length: 10 }, (_, index) => index + 1).filter(
    (number) => decide([{ fault: { status: 500 }, ...rule }], { number }).status === 500,
  );

describe('decideFaults', () => {
  it.each([
    [{ calls: 3 }, [3]],
    [{ calls: [1, 5] }, [1, 5]],
    [{ calls: { from: 2, to: 4 } }, [2, 3, 4]],
    [{ calls: { from: 9 } }, [9, 10]],
    [{ calls: { to: 2 } }, [1, 2]],
    [{ calls: { every: 4 } }, [4, 8]],
    [{ calls: { from: 1, every: 4, to: 8 } }, [1, 5]],
    [{ on: 'upload' }, []],
    [{ folio: 1 }, []],
    [{ probability: 0 }, []],
    [{ probability: 1, calls: 2 }, [2]],
  ])('hits by %j', (rule, numbers) => {
    expect(hits(rule)).toEqual(numbers);
  });

  it('counts the calls of each folio separately', () => {
    const rule = { folio: 2, folioCalls: 1, fault: { status: 500 } };
    expect(decide([rule], { number: 9, folio: { ordinal: 2, call: 1 } })).toEqual({ status: 500 });
    expect(decide([rule], { number: 1, folio: { ordinal: 2, call: 2 } })).toEqual({});
    expect(decide([rule], { number: 1, folio: { ordinal: 1, call: 1 } })).toEqual({});
  });

  it.each([
    [599_999, {}],
    [600_000, { status: 503 }],
    [2_999_999, { status: 503 }],
    [3_000_000, {}],
  ])('hits within a window of time, at %i ms', (elapsed, fault) => {
    const rule = { between: { after: '10m', until: '50m' }, fault: { status: 503 } };
    expect(decide([rule], { elapsed })).toEqual(fault);
  });

  it('hits downloads of one file status', () => {
    const rule = { fileStatus: 'FAILED', fault: { status: 500 } };
    expect(decide([rule], { operation: 'download', fileStatus: 'FAILED' })).toEqual({ status: 500 });
    expect(decide([rule], { operation: 'download', fileStatus: 'SUCCESSFUL' })).toEqual({});
    expect(decide([rule], {})).toEqual({});
  });

  it.each([
    [{ records: { from: 20 } }, { records: 20, texts: new Set<string>() }, true],
    [{ records: { from: 20 } }, { records: 19, texts: new Set<string>() }, false],
    [{ contains: 'Bad' }, { records: 1, texts: new Set(['Good', 'Bad']) }, true],
    [{ contains: 'Bad' }, { records: 1, texts: new Set(['Good']) }, false],
    [{ records: { from: 2 }, contains: 'Bad' }, { records: 1, texts: new Set(['Bad']) }, false],
    [{ contains: 'Bad' }, undefined, false],
    [{ records: { from: 1 } }, undefined, false],
  ])('hits by %j an upload of %j: %j', (rule, file, isHit) => {
    const call = { operation: 'upload' as const, ...(file && { file }) };
    expect(decide([{ ...rule, fault: { status: 413 } }], call)).toEqual(isHit ? { status: 413 } : {});
  });

  it('leaves out faults that cannot hit the operation', () => {
    const rule = {
      fault: { stall: '1s', brokenBase64: true, cut: 'after-accepting', counts: { failed: 1 } },
    };
    expect(decide([rule], { operation: 'search' })).toEqual({ stall: 1000 });
    expect(decide([rule], { operation: 'download' })).toEqual({ stall: 1000, brokenBase64: true });
    expect(decide([rule], { operation: 'upload' })).toEqual({ stall: 1000, cut: 'after-accepting' });
    expect(decide([rule], { folio: { ordinal: 1, call: 1 } })).toEqual({
      stall: 1000,
      counts: { failed: 1 },
    });
  });

  it('combines rules, and the first one wins', () => {
    const rules = [
      { fault: { stall: '1s', status: 503 } },
      { fault: { stall: '2s', status: 429, retryAfter: '5s', html: true } },
    ];
    expect(decide(rules, {})).toEqual({ stall: 1000, status: 503, html: true });
  });
});
