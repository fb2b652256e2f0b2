import { expect, it } from 'vitest';
import { unpackNumbers } from '../../../src/checkpoint/packed-numbers.js';
import { valuesOfChunk } from '../../../src/checkpoint/rows/chunk-changes.js';
import { sampleChunk, samplePicked } from '../../helpers/checkpoint/samples.js';

it('a new chunk has the values of its row, and its picked records packed', () => {
  const whole = sampleChunk(1);
  expect(valuesOfChunk('recordCut', 'r1', { ...whole, picked: null })).toMatchObject({
    run: 'r1',
    round: 0,
    firstRecord: whole.firstRecord,
    startOffset: whole.start.offset,
    endFile: whole.end.file,
    at: null,
    numbers: null,
  });
  const values = valuesOfChunk('recordCut', 'r1', samplePicked(1, 2, [4, 6]), 1000);
  expect(values).toMatchObject({ round: 2, at: 1000 });
  expect(unpackNumbers(values.numbers!)).toEqual([4, 6]);
});

it('picked records that are not those of the chunk, or do not ascend, are refused', () => {
  const picked = samplePicked(1, 2, [4, 5, 6]);
  for (const numbers of [
    [4, 6],
    [4, 5, 7],
    [4, 4, 6],
  ]) {
    const wrong = { ...picked, picked: { round: 2, numbers } };
    expect(() => valuesOfChunk('recordSplit', 'r1', wrong)).toThrow(
      'a new chunk of run r1 has other records than picked',
    );
  }
});
