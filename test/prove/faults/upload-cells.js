/** Faults of the paid POST. Rules "Intent first" and "Paid requests are not retried blindly". */
import { cell, forEver, once, onceAndForEver, PASSING, REFUSING, statusCells, UNCLEAR } from './cell.js';
import { BAD_RECORD, impatient, shortTimeouts } from './job.js';
import {
  alwaysTooLarge,
  ambiguousForEver,
  ambiguousOnce,
  done,
  foundRefused,
  halved,
  held,
  madeToFail,
  misread,
  mixed,
  outage,
  published,
  redirected,
  refused,
  tooManyFailed,
  triedAgain,
  unreadable,
  unreadableForEver,
} from './outcomes.js';

const { 302: _redirect, 413: _tooLarge, ...others } = REFUSING;
const refusing = { ...others, 404: 'SERVICE_REFUSED', 409: 'SERVICE_REFUSED', 410: 'SERVICE_REFUSED' };
const outages = { first: triedAgain, always: outage, alwaysConfig: impatient };
const hold = { ambiguous: { policy: 'hold' } };
/** Reported as ambiguous; @param accepted whether the service had taken the file. */
const unclear = (hit, accepted) => ({
  hit,
  first: ambiguousOnce(accepted),
  always: ambiguousForEver(accepted),
});

/** A complete reply that cannot be read. */
const unread = (hit) => ({ hit, first: unreadable(1), always: unreadableForEver });

export const uploadCells = [
  ...statusCells('upload', [302], () => ({ first: redirected, always: redirected })),
  ...statusCells('upload', Object.keys(refusing), (status) => ({
    first: refused(refusing[status]),
    always: refused(refusing[status]),
  })),
  ...statusCells('upload', PASSING, () => outages),
  ...UNCLEAR.flatMap((status) =>
    onceAndForEver('upload', 'status', `${status}, `, unclear({ status }, false)),
  ),
  cell('upload', 'status', '500, once, under `hold`', {
    rules: once({ status: 500 }),
    expect: held(false),
    config: hold,
  }),
  ...onceAndForEver('upload', 'status', '413, ', {
    hit: { status: 413 },
    first: halved(4),
    // The first chunk is in 1, 1, 1, 2, 5 and 10 records when nothing is left to be halved.
    always: alwaysTooLarge(8),
  }),
  cell('upload', 'status', '413 for files of 20 records and more', {
    rules: [{ records: { from: 20 }, fault: { status: 413 } }],
    expect: halved(6),
  }),
  cell('upload', 'status', '422, once, when others were accepted', {
    rules: [{ calls: 2, fault: { status: 422 } }],
    expect: halved(4),
  }),
  ...[400, 413, 422].map((status) =>
    cell('upload', 'status', `${status} for the file with one bad record`, {
      rules: [{ contains: BAD_RECORD, fault: { status } }],
      // Of the second chunk's twenty, 10, 5, 2, 1 and 1 records are accepted.
      expect: foundRefused(26, status, 7),
    }),
  ),
  cell('upload', 'status', '422 for the file with one bad record, without splits', {
    rules: [{ contains: BAD_RECORD, fault: { status: 422 } }],
    expect: refused('SERVICE_REFUSED'),
    config: { failures: { maxSplits: 0 } },
  }),

  ...onceAndForEver('upload', 'retryAfter', '429 and 1s, ', {
    hit: { status: 429, retryAfter: '1s' },
    ...outages,
  }),
  cell('upload', 'retryAfter', '503 and 1h, for ever', {
    rules: forEver({ status: 503, retryAfter: '1h' }),
    expect: outage,
    config: impatient,
  }),
  ...onceAndForEver('upload', 'html', '', unread({ html: true })),
  cell('upload', 'html', 'twice, then never', {
    rules: [{ calls: { to: 2 }, fault: { html: true } }],
    expect: unreadable(1, 2),
  }),
  ...onceAndForEver('upload', 'html', 'with 503, ', { hit: { status: 503, html: true }, ...outages }),

  ...onceAndForEver('upload', 'cut', '`before-reply`, ', unclear({ cut: 'before-reply' }, false)),
  ...onceAndForEver('upload', 'cut', '`after-accepting`, ', unclear({ cut: 'after-accepting' }, true)),
  ...onceAndForEver('upload', 'cut', '`in-reply`, ', unclear({ cut: 'in-reply' }, true)),
  cell('upload', 'cut', '`after-accepting`, once, under `hold`', {
    rules: once({ cut: 'after-accepting' }),
    expect: held(true),
    config: hold,
  }),

  cell('upload', 'stall', 'within `timeouts`, for ever', {
    rules: forEver({ stall: '200ms' }),
    expect: done(),
  }),
  ...onceAndForEver('upload', 'stall', 'past `timeouts.upload`, ', {
    ...unclear({ stall: '1h' }, true),
    config: shortTimeouts,
  }),
  cell('upload', 'stall', 'then `cut: before-reply`, once', {
    rules: once({ stall: '200ms', cut: 'before-reply' }),
    expect: ambiguousOnce(false),
  }),
  cell('upload', 'slow', 'within `timeouts`, for ever', {
    rules: forEver({ slow: { bytesPerSecond: 2000 } }),
    expect: done(),
  }),
  ...onceAndForEver('upload', 'slow', 'past `timeouts.upload`, ', {
    ...unclear({ slow: { bytesPerSecond: 20 } }, true),
    config: shortTimeouts,
  }),
  ...onceAndForEver('upload', 'truncate', 'to a half, ', unread({ truncate: '50%' })),
  cell('upload', 'truncate', 'to nothing, once', {
    rules: once({ truncate: 0 }),
    expect: unreadable(1),
  }),
  ...onceAndForEver('upload', 'foreign', '', { hit: { foreign: true }, first: mixed, always: mixed }),

  cell('upload', 'counts', 'total too high, once', {
    rules: once({ counts: { total: 1 } }),
    expect: misread,
  }),
  cell('upload', 'counts', 'total too low, once', {
    rules: once({ counts: { total: -1 } }),
    expect: misread,
  }),
  cell('upload', 'counts', 'total too high, for ever', {
    rules: forEver({ counts: { total: 1 } }),
    expect: misread,
  }),

  cell('upload', 'fail', '30%, tolerated', {
    rules: forEver({ fail: '30%' }),
    expect: done(null, madeToFail(0.3)),
  }),
  cell('upload', 'fail', '60%, not tolerated, the source is one chunk', {
    rules: forEver({ fail: '60%' }),
    expect: published(madeToFail(0.6), null, { chunks: 1 }),
    config: { failures: { tolerate: '35%' }, chunks: { maxRecords: 60 } },
  }),
  cell('upload', 'fail', '60%, not tolerated, one chunk after the other', {
    rules: forEver({ fail: '60%' }),
    expect: tooManyFailed,
    config: { failures: { tolerate: '35%' }, concurrency: { folios: 1 } },
  }),
  cell('upload', 'fail', '100%, tolerated', {
    rules: forEver({ fail: '100%' }),
    expect: done(null, madeToFail(1)),
  }),
  cell('upload', 'fail', '30% of the file with a text', {
    rules: [{ contains: BAD_RECORD, fault: { fail: '30%' } }],
    expect: done(null, madeToFail(0.3)),
  }),
];
