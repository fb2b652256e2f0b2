/** Faults of the search, which is a paid POST too: an ambiguous one is never repeated. */
import { cell, forEver, once, onceAndForEver, PASSING, REFUSING, statusCells, UNCLEAR } from './cell.js';
import { impatient, shortTimeouts } from './job.js';
import { answered, searchFailed } from './outcomes.js';

const refusing = { ...REFUSING, 404: 'SEARCH_NO_MATCH', 409: 'SERVICE_REFUSED', 410: 'SERVICE_REFUSED' };
const outage = searchFailed(5, 'SERVICE_UNAVAILABLE');
const outages = { first: answered('tried again'), always: outage, alwaysConfig: impatient };
const ambiguous = searchFailed(5, 'AMBIGUOUS_SEARCH');
const unclear = { first: ambiguous, always: ambiguous };

export const searchCells = [
  ...statusCells('search', Object.keys(refusing), (status) => ({
    first: searchFailed(7, refusing[status]),
    always: searchFailed(7, refusing[status]),
  })),
  ...statusCells('search', PASSING, () => outages),
  ...statusCells('search', UNCLEAR, () => unclear),
  ...onceAndForEver('search', 'retryAfter', '429 and 1s, ', {
    hit: { status: 429, retryAfter: '1s' },
    ...outages,
  }),
  ...onceAndForEver('search', 'html', '', { hit: { html: true }, ...unclear }),
  ...onceAndForEver('search', 'html', 'with 503, ', { hit: { status: 503, html: true }, ...outages }),
  ...onceAndForEver('search', 'cut', '`before-reply`, ', { hit: { cut: 'before-reply' }, ...unclear }),
  ...onceAndForEver('search', 'cut', '`in-reply`, ', { hit: { cut: 'in-reply' }, ...unclear }),
  cell('search', 'stall', 'within `timeouts`, for ever', {
    rules: forEver({ stall: '200ms' }),
    expect: answered(),
  }),
  ...onceAndForEver('search', 'stall', 'past `timeouts.idle`, ', {
    hit: { stall: '1h' },
    ...unclear,
    config: shortTimeouts,
  }),
  cell('search', 'slow', 'for ever', {
    rules: forEver({ slow: { bytesPerSecond: 500 } }),
    expect: answered(),
  }),
  ...onceAndForEver('search', 'truncate', 'to a half, ', { hit: { truncate: '50%' }, ...unclear }),
  cell('search', 'truncate', 'to nothing, once', { rules: once({ truncate: 0 }), expect: ambiguous }),
];
