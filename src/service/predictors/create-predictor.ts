/** Chooses the predictor by its name; the dictionary of industries is loaded only where it is used. */
import { createHashPredictor } from './hash-predictor.js';
import type { Predictor } from './predictor.js';

/** `naics`: by the words of the name. `hash`: as fast as can be, without meaning. */
export type PredictorName = 'naics' | 'hash';

export async function createPredictor(name: PredictorName): Promise<Predictor> {
  if (name === 'hash') return createHashPredictor();
  const { createNaicsPredictor } = await import('./naics-predictor.js');
  return createNaicsPredictor();
}
