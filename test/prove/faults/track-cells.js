/** Faults of a poll: a failed poll is only a poll, and a time-out never means that the folio failed. */
import { cell, forEver, once, onceAndForEver, statusCells } from './cell.js';
import { shortPoll } from './job.js';
import { done, fetchedAgain, lost, mixed, refused, timedOut, untrusted } from './outcomes.js';
import { replyCells } from './reply-cells.js';

/** Wrong counts in the poll that finds the first folio finished. The poll before it gets an unknown status. */
function liesOnce(counts, what) {
  const rules = [
    { folio: 1, folioCalls: 1, fault: { unknownStatus: 'QUEUED' } },
    { folio: 1, folioCalls: 2, fault: { counts } },
  ];
  return (expect) => cell('track', 'counts', `${what}, once`, { rules, expect });
}

const waited = done('unknown status QUEUED');

export const trackCells = [
  ...replyCells('track'),
  ...statusCells('track', [409], () => ({
    first: refused('SERVICE_REFUSED'),
    always: refused('SERVICE_REFUSED'),
  })),

  liesOnce({ successful: 1 }, '`successful` too high')(waited),
  liesOnce({ successful: -1 }, '`successful` too low')(fetchedAgain),
  liesOnce({ failed: 1 }, '`failed` too high')(fetchedAgain),
  liesOnce({ failed: -1 }, '`failed` too low')(fetchedAgain),
  liesOnce({ total: 1 }, '`total` too high')(waited),
  cell('track', 'counts', '`successful` too high, for ever', {
    rules: forEver({ counts: { successful: 1 } }),
    expect: timedOut,
    config: shortPoll,
  }),
  ...Object.entries({
    '`successful` too low': { successful: -1 },
    '`failed` too high': { failed: 1 },
    '`failed` too low': { failed: -1 },
    'one success counted as a failure': { successful: -1, failed: 1 },
  }).map(([what, counts]) =>
    cell('track', 'counts', `${what}, for ever`, {
      rules: forEver({ counts }),
      expect: untrusted('CHUNK_UNBALANCED'),
    }),
  ),
  cell('track', 'counts', '`failed` too high, for ever for one folio', {
    rules: [{ folio: 2, fault: { counts: { failed: 1 } } }],
    expect: untrusted('CHUNK_UNBALANCED'),
  }),
  cell('track', 'counts', '`total` too high, for ever', {
    rules: forEver({ counts: { total: 1 } }),
    expect: done(),
  }),
  cell('track', 'counts', '`total` too low, for ever', {
    rules: forEver({ counts: { total: -1 } }),
    expect: done(),
  }),

  ...onceAndForEver('track', 'foreign', '', { hit: { foreign: true }, first: mixed, always: mixed }),

  cell('track', 'percentage', 'for ever', { rules: forEver({ percentage: 'back' }), expect: done() }),
  cell('track', 'unknownStatus', 'once', { rules: once({ unknownStatus: 'QUEUED' }), expect: waited }),
  cell('track', 'unknownStatus', 'for ever', {
    rules: forEver({ unknownStatus: 'QUEUED' }),
    expect: timedOut,
    config: shortPoll,
  }),

  cell('track', 'forget', 'one folio', { rules: [{ folio: 2, fault: { forget: true } }], expect: lost(2) }),
  cell('track', 'forget', 'every folio', { rules: forEver({ forget: true }), expect: lost(1, 2, 3) }),
  cell('track', 'neverFinishes', 'one folio', {
    rules: [{ folio: 2, fault: { neverFinishes: true } }],
    expect: timedOut,
    config: shortPoll,
  }),
  cell('track', 'neverFinishes', 'every folio', {
    rules: forEver({ neverFinishes: true }),
    expect: timedOut,
    config: shortPoll,
  }),
];
