/** Faults that hit both GETs in the same way: retried freely, given up as an outage. */
import { cell, forEver, once, onceAndForEver, PASSING, REFUSING, statusCells, UNCLEAR } from './cell.js';
import { impatient, patient, shortTimeouts } from './job.js';
import { done, lost, outage, refused, triedAgain } from './outcomes.js';

const outages = { first: triedAgain, always: outage, alwaysConfig: impatient };

/** @param operation `track` or `download`. */
export function replyCells(operation) {
  return [
    ...statusCells(operation, Object.keys(REFUSING), (status) => ({
      first: refused(REFUSING[status]),
      always: refused(REFUSING[status]),
    })),
    ...statusCells(operation, [404, 410], () => ({ first: triedAgain, always: lost(1, 2, 3) })),
    cell(operation, 'status', '404, for ever for one folio', {
      rules: [{ folio: 2, fault: { status: 404 } }],
      expect: lost(2),
    }),
    cell(operation, 'status', '404 for the first twenty seconds', {
      rules: [{ between: { until: '20s' }, fault: { status: 404 } }],
      expect: triedAgain,
      config: patient,
    }),
    ...onceAndForEver(operation, 'status', "404 as a proxy's page, ", {
      hit: { status: 404, html: true },
      ...outages,
    }),
    ...statusCells(operation, [...PASSING, ...UNCLEAR], () => outages),
    cell(operation, 'status', '500, for ever for one folio', {
      rules: [{ folio: 2, fault: { status: 500 } }],
      expect: outage,
      config: impatient,
    }),
    ...onceAndForEver(operation, 'retryAfter', '429 and 1s, ', {
      hit: { status: 429, retryAfter: '1s' },
      ...outages,
    }),
    ...onceAndForEver(operation, 'html', '', { hit: { html: true }, ...outages }),
    ...onceAndForEver(operation, 'html', 'with 503, ', { hit: { status: 503, html: true }, ...outages }),
    ...onceAndForEver(operation, 'cut', '`before-reply`, ', { hit: { cut: 'before-reply' }, ...outages }),
    ...onceAndForEver(operation, 'cut', '`in-reply`, ', { hit: { cut: 'in-reply' }, ...outages }),
    cell(operation, 'stall', 'within `timeouts`, for ever', {
      rules: forEver({ stall: '200ms' }),
      expect: done(),
    }),
    ...onceAndForEver(operation, 'stall', 'past `timeouts.idle`, ', {
      hit: { stall: '1h' },
      ...outages,
      config: shortTimeouts,
    }),
    ...onceAndForEver(operation, 'slow', 'a byte now and then, for longer than `timeouts.idle`, ', {
      hit: { slow: { bytesPerSecond: 800 } },
      ...outages,
      config: shortTimeouts,
    }),
    cell(operation, 'slow', 'within `timeouts`, for ever', {
      rules: forEver({ slow: { bytesPerSecond: 8000 } }),
      expect: done(),
    }),
    ...onceAndForEver(operation, 'truncate', 'to a half, ', { hit: { truncate: '50%' }, ...outages }),
    cell(operation, 'truncate', 'to nothing, once', { rules: once({ truncate: 0 }), expect: triedAgain }),
  ];
}
