/** Predictions from unambiguous names, their confidence, and the reasons for failures. */
import { describe, expect, it } from 'vitest';
import { createNaicsPredictor } from '../../../src/service/predictors/naics-predictor.js';

describe('createNaicsPredictor', () => {
  const predictor = createNaicsPredictor();

  it.each([
    ['BIG SKY DENTISTS PLLC', '621210'],
    ['Smith Veterinary Services, Inc.', '541940'],
    ['Bozeman Roofing Contractors LLC', '238160'],
  ])('finds the industry of %s', (name, code) => {
    expect(predictor.predict(name, '', '')).toMatchObject({ code, title: expect.stringMatching(/\S$/) });
  });

  it('is more confident the more of the name fits', () => {
    const whole = predictor.predict('Breweries', '', '');
    const half = predictor.predict('Zzyzx Breweries', '', '');
    expect(whole).toMatchObject({ code: '312120' });
    expect(half).toMatchObject({ code: '312120' });
    if ('reason' in whole || 'reason' in half) throw new Error('no prediction');
    expect(half.confidence).toBeCloseTo(whole.confidence / 2);
    expect(whole.confidence).toBeLessThanOrEqual(1);
  });

  it.each([
    ['', 'the name is empty'],
    ['  ', 'the name is empty'],
    ['The LLC', 'no industry matches the name'],
    ['Zzyzx', 'no industry matches the name'],
  ])('fails %j with a reason', (name, reason) => {
    expect(predictor.predict(name, '', '')).toEqual({ reason });
  });
});
