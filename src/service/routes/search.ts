/** POST of one business (interface, 4.4). The predictor, which folios use too, answers at once. */
import type { FastifyRequest } from 'fastify';
import { type Answer, answer } from '../http/answer.js';
import { HttpRefusal } from '../http/http-refusal.js';
import { parameters, requiredText } from '../http/parameters.js';
import { isPrediction, type Predictor } from '../predictors/predictor.js';

/** @throws HttpRefusal 400 without a name; 404 with the reason when there is no prediction. */
export function search(request: FastifyRequest, predictor: Predictor): Answer {
  const { address, state } = parameters(request.body);
  const outcome = predictor.predict(
    requiredText(request.body, 'name'),
    textOrEmpty(address),
    textOrEmpty(state),
  );
  if (!isPrediction(outcome)) throw new HttpRefusal(404, outcome.reason);
  return answer(
    {
      naics_code: outcome.code,
      naics_title: outcome.title,
      confidence: Number(outcome.confidence.toFixed(2)),
    },
    'the business was predicted',
  );
}

function textOrEmpty(given: unknown): string {
  return typeof given === 'string' ? given : '';
}
