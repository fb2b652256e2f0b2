import { describe, expect, it } from 'vitest';
import { decideRefusal, type RefusalDecision } from '../../../src/stages/submit/resolve-refused.js';

describe('a refusal', () => {
  it.each<[unknown, number, number, number, RefusalDecision]>([
    // status, records, accepted, splits
    [413, 2, 0, 0, 'split'],
    [413, 2, 0, 99, 'split'],
    [413, 1, 1, 99, 'give-up'],
    [413, 1, 0, 0, 'nothing-accepted'],
    [422, 2, 0, 0, 'nothing-accepted'],
    [422, 2, 1, 0, 'split'],
    [422, 2, 1, 2, 'split'],
    [422, 2, 1, 3, 'too-many'],
    [422, 1, 1, 3, 'give-up'],
    [422, 1, 0, 0, 'nothing-accepted'],
    [400, 2, 1, 0, 'split'],
    [400, 1, 1, 0, 'give-up'],
    [401, 2, 1, 0, 'final'],
    [409, 1, 1, 0, 'final'],
    [undefined, 2, 1, 0, 'final'],
  ])(
    'with %s of %i records, %i uploads accepted, %i splits: %s',
    (status, records, accepted, splits, decision) => {
      expect(decideRefusal({ status, records, accepted, reused: 0, splits }, 3)).toBe(decision);
    },
  );

  it.each<[number, number, number, RefusalDecision]>([
    // status, records, splits
    [422, 2, 0, 'split'],
    [422, 1, 0, 'give-up'],
    [422, 2, 3, 'too-many'],
    [413, 1, 0, 'give-up'],
    [401, 2, 0, 'final'],
  ])('with %i of %i records, %i splits, when answers are reused: %s', (status, records, splits, decision) => {
    expect(decideRefusal({ status, records, accepted: 0, reused: 1, splits }, 3)).toBe(decision);
  });
});
