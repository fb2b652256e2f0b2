/** Faults under `on: any`: each operation of a run that the fault can hit, at its first call or always. */
import { cell, forEver, once, onceAndForEver } from './cell.js';
import { impatient, shortPoll, shortTimeouts } from './job.js';
import {
  ambiguousForEver,
  ambiguousOnce,
  done,
  fetchedAgain,
  lost,
  madeToFail,
  misread,
  mixed,
  otherColumns,
  outage,
  refused,
  timedOut,
  triedAgain,
  unreadable,
  unreadableForEver,
  untrusted,
} from './outcomes.js';

const outages = { first: triedAgain, always: outage, alwaysConfig: impatient };
const unclear = (hit, accepted) => ({
  hit,
  first: ambiguousOnce(accepted),
  always: ambiguousForEver(accepted),
});

const unread = (hit) => ({ hit, first: unreadable(1), always: unreadableForEver });

export const anyCells = [
  ...[429, 503].flatMap((status) =>
    onceAndForEver('any', 'status', `${status}, `, { hit: { status }, ...outages }),
  ),
  ...onceAndForEver('any', 'status', '500, ', unclear({ status: 500 }, false)),
  ...[401, 404].flatMap((status) => {
    const expect = refused(status === 401 ? 'TOKEN_REFUSED' : 'SERVICE_REFUSED');
    return onceAndForEver('any', 'status', `${status}, `, { hit: { status }, first: expect, always: expect });
  }),
  cell('any', 'status', '503 for the first five seconds', {
    rules: [{ between: { until: '5s' }, fault: { status: 503 } }],
    expect: triedAgain,
  }),
  cell('any', 'status', '503 at every second call', {
    rules: [{ calls: { from: 1, every: 2 }, fault: { status: 503 } }],
    expect: triedAgain,
  }),
  ...onceAndForEver('any', 'retryAfter', '503 and 1s, ', {
    hit: { status: 503, retryAfter: '1s' },
    ...outages,
  }),
  ...onceAndForEver('any', 'html', '', unread({ html: true })),
  ...onceAndForEver('any', 'cut', '`before-reply`, ', unclear({ cut: 'before-reply' }, false)),
  ...onceAndForEver('any', 'cut', '`in-reply`, ', unclear({ cut: 'in-reply' }, true)),
  cell('any', 'cut', '`after-accepting`, once', {
    rules: once({ cut: 'after-accepting' }),
    expect: ambiguousOnce(true),
  }),
  cell('any', 'stall', 'within `timeouts`, for ever', { rules: forEver({ stall: '100ms' }), expect: done() }),
  cell('any', 'stall', 'past `timeouts`, once', {
    rules: once({ stall: '1h' }),
    expect: ambiguousOnce(true),
    config: shortTimeouts,
  }),
  cell('any', 'slow', 'for ever', { rules: forEver({ slow: { bytesPerSecond: 8000 } }), expect: done() }),
  ...onceAndForEver('any', 'truncate', 'to a half, ', unread({ truncate: '50%' })),
  cell('any', 'foreign', 'once', { rules: once({ foreign: true }), expect: mixed }),
  ...onceAndForEver('any', 'brokenBase64', '', { hit: { brokenBase64: true }, ...outages }),
  ...onceAndForEver('any', 'records', 'one missing, ', {
    hit: { records: { missing: 1 } },
    first: fetchedAgain,
    always: untrusted('CHUNK_UNBALANCED'),
  }),
  cell('any', 'keys', 'shifted, for ever', {
    rules: forEver({ keys: 'shifted' }),
    expect: untrusted('ECHO_UNPROVEN'),
  }),
  cell('any', 'columns', 'one added, for ever', {
    rules: [{ fileStatus: 'SUCCESSFUL', fault: { columns: { add: ['score'] } } }],
    expect: done(null, otherColumns({ added: { score: 'added' } }, "complete, the service's columns")),
  }),
  cell('any', 'counts', '`failed` too high, for ever', {
    rules: forEver({ counts: { failed: 1 } }),
    expect: untrusted('CHUNK_UNBALANCED'),
  }),
  cell('any', 'counts', '`total` too high, for ever', {
    rules: forEver({ counts: { total: 1 } }),
    expect: misread,
  }),
  cell('any', 'percentage', 'for ever', { rules: forEver({ percentage: 'back' }), expect: done() }),
  cell('any', 'unknownStatus', 'for ever', {
    rules: forEver({ unknownStatus: 'QUEUED' }),
    expect: timedOut,
    config: shortPoll,
  }),
  cell('any', 'forget', 'one folio', { rules: [{ folio: 2, fault: { forget: true } }], expect: lost(2) }),
  cell('any', 'neverFinishes', 'one folio', {
    rules: [{ folio: 2, fault: { neverFinishes: true } }],
    expect: timedOut,
    config: shortPoll,
  }),
  cell('any', 'expire', 'at once, one folio', {
    rules: [{ folio: 2, fault: { expire: '1ms' } }],
    expect: lost(2),
  }),
  cell('any', 'fail', '30%', { rules: forEver({ fail: '30%' }), expect: done(null, madeToFail(0.3)) }),
];
