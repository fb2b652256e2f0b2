/** The hash predictor gives the same answer for a name as text and as a raw CSV field, quoted or not. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { createHashPredictor } from '../../src/service/predictors/hash-predictor.js';
import { forTime } from '../helpers/properties/for-time.js';

it('predictRaw answers as predict', () => {
  const predictor = createHashPredictor();
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.boolean(), (name, quote) => {
      const quoted = quote || /[",\r\n]/.test(name);
      const raw = quoted ? `"${name.replaceAll('"', '""')}"` : name;
      const bytes = Buffer.from(`before,${raw},after`);
      const outcome = predictor.predictRaw?.(bytes, 7, bytes.length - 6);
      expect(outcome).toEqual(predictor.predict(name, '', ''));
    }),
    forTime(700, 2_000),
  );
});
