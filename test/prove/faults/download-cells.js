/** Faults of a part: a malformed one is fetched again freely, one that does not match once more; then exit 6. */
import { cell, forEver, once, onceAndForEver, statusCells } from './cell.js';
import { impatient } from './job.js';
import {
  columnsChanged,
  complete,
  done,
  fetchedAgain,
  lost,
  mislearned,
  mixed,
  otherColumns,
  outage,
  triedAgain,
  untrusted,
} from './outcomes.js';
import { replyCells } from './reply-cells.js';

const outages = { first: triedAgain, always: outage, alwaysConfig: impatient };
const successful = (fault, conditions = {}) => [{ fileStatus: 'SUCCESSFUL', ...conditions, fault }];
const failed = (fault, conditions = {}) => [{ fileStatus: 'FAILED', ...conditions, fault }];
const ignore = { result: { onChange: 'ignore' } };

function recordCells(what, records, code) {
  return [
    cell('download', 'records', `${what}, once`, { rules: once({ records }), expect: fetchedAgain }),
    cell('download', 'records', `${what}, for ever`, {
      rules: forEver({ records }),
      expect: untrusted(code),
    }),
    cell('download', 'records', `${what}, for ever for one folio`, {
      rules: [{ folio: 2, fault: { records } }],
      expect: untrusted(code),
    }),
  ];
}

/**
 * Columns that change in the middle of a run, which has learned them from its first chunk.
 * @param once the outcome if they are right when they are fetched again.
 */
function changingCells(what, columns, expect, once = expect) {
  return [
    cell('download', 'columns', `${what}, in one folio, once`, {
      rules: successful({ columns }, { folio: 2, folioCalls: { to: 2 } }),
      expect: once,
      config: oneByOne,
    }),
    cell('download', 'columns', `${what}, in one folio, for ever`, {
      rules: successful({ columns }, { folio: 2 }),
      expect,
      config: oneByOne,
    }),
  ];
}

/** The first chunk is judged first only where it is finished first. */
const oneByOne = { concurrency: { folios: 1 } };
const emptyInSecond = (column) =>
  otherColumns({ emptied: { chunks: [2], column } }, 'complete, the column empty in chunk 2');
const renaming = { rename: { naics_code: 'code' } };
const dropping = { drop: ['confidence'] };
const adding = { add: ['score'] };
const weakening = { drop: ['record_id'] };

export const downloadCells = [
  ...replyCells('download'),
  ...statusCells('download', [409], () => outages),
  cell('download', 'status', '404, for ever for one failed part', {
    rules: failed({ status: 404 }, { folio: 2 }),
    expect: lost(2),
  }),
  ...onceAndForEver('download', 'foreign', '', { hit: { foreign: true }, first: mixed, always: mixed }),
  ...onceAndForEver('download', 'brokenBase64', '', { hit: { brokenBase64: true }, ...outages }),

  ...recordCells('one missing', { missing: 1 }, 'CHUNK_UNBALANCED'),
  ...recordCells('one doubled', { doubled: 1 }, 'CHUNK_UNBALANCED'),
  ...recordCells('one strange', { strange: 1 }, 'CHUNK_UNBALANCED'),
  ...recordCells('one doubled in the place of another', { missing: 1, doubled: 1 }, 'RESULTS_DO_NOT_MATCH'),
  ...recordCells('a strange one in the place of another', { missing: 1, strange: 1 }, 'RESULTS_DO_NOT_MATCH'),
  cell('download', 'records', 'one missing in each failed part, for ever', {
    rules: failed({ records: { missing: 1 } }),
    expect: untrusted('CHUNK_UNBALANCED'),
  }),
  cell('download', 'records', 'shuffled, for ever', {
    rules: forEver({ records: { shuffled: true } }),
    expect: done(),
  }),

  ...['shifted', 'renumbered'].flatMap((keys) => [
    cell('download', 'keys', `${keys}, once in each part`, {
      rules: [{ folio: 1, folioCalls: { to: 2 }, fault: { keys } }],
      expect: fetchedAgain,
    }),
    cell('download', 'keys', `${keys}, for ever`, {
      rules: forEver({ keys }),
      expect: untrusted('ECHO_UNPROVEN'),
    }),
  ]),

  cell('download', 'columns', 'one renamed, for ever', {
    rules: successful({ columns: renaming }),
    expect: done(null, otherColumns({ renamed: { naics_code: 'code' } }, "complete, the service's columns")),
  }),
  cell('download', 'columns', 'one dropped, for ever', {
    rules: successful({ columns: dropping }),
    expect: done(null, otherColumns({ dropped: ['confidence'] }, "complete, the service's columns")),
  }),
  cell('download', 'columns', 'one added, for ever', {
    rules: successful({ columns: adding }),
    expect: done(null, otherColumns({ added: { score: 'added' } }, "complete, the service's columns")),
  }),
  cell('download', 'columns', 'one renamed, only in the first part', {
    rules: [{ folio: 1, folioCalls: 1, fault: { columns: renaming } }],
    expect: mislearned,
  }),
  ...changingCells('one renamed', renaming, columnsChanged(emptyInSecond('naics_code'))),
  ...changingCells('one dropped', dropping, columnsChanged(emptyInSecond('confidence'))),
  ...changingCells('one added', adding, columnsChanged(complete)),
  cell('download', 'columns', 'one renamed, in the last folio, at a service that then forgets it', {
    rules: successful({ columns: renaming }, { folio: 3 }),
    later: forEver({ forget: true }),
    expect: columnsChanged(
      otherColumns(
        { emptied: { chunks: [3], column: 'naics_code' } },
        'complete, the column empty in chunk 3',
      ),
    ),
    config: oneByOne,
  }),
  cell('download', 'columns', 'one added, in one folio, under `ignore`', {
    rules: successful({ columns: adding }, { folio: 2 }),
    expect: done(),
    config: ignore,
  }),
  cell('download', 'columns', 'one renamed, in one folio, under `ignore`', {
    rules: successful({ columns: renaming }, { folio: 2 }),
    expect: done(null, emptyInSecond('naics_code')),
    config: ignore,
  }),
  cell('download', 'columns', 'the key dropped, for ever', {
    rules: successful({ columns: weakening }),
    expect: done(),
  }),
  ...changingCells('the key dropped', weakening, untrusted('JOIN_WEAKER'), fetchedAgain),
  cell('download', 'columns', 'all that was sent dropped, for ever', {
    rules: successful({ columns: { drop: ['record_id', 'name', 'address', 'state'] } }),
    expect: untrusted('JOIN_IMPOSSIBLE'),
  }),
  cell('download', 'columns', 'all that was sent except the state dropped, for ever', {
    rules: forEver({ columns: { drop: ['record_id', 'name', 'address'] } }),
    expect: untrusted('RESULTS_INDISTINCT'),
    // Fetched again, the first chunk has the number again, and stored parts would have to have it too.
    config: { chunks: { canary: 20 } },
  }),
  cell('download', 'columns', 'all that was predicted dropped, for ever', {
    rules: successful({ columns: { drop: ['naics_code', 'naics_title', 'confidence'] } }),
    expect: untrusted('NOTHING_PREDICTED'),
  }),
  cell('download', 'columns', 'the reason renamed, for ever', {
    rules: failed({ columns: { rename: { reason: 'why' } } }),
    expect: done(null, complete),
  }),
  cell('download', 'columns', 'the reason dropped, for ever', {
    rules: failed({ columns: { drop: ['reason'] } }),
    expect: done(null, otherColumns({ error: () => '' }, 'complete, without reasons')),
  }),
  cell('download', 'columns', 'one added beside the reason, for ever', {
    rules: failed({ columns: adding }),
    expect: done(
      null,
      otherColumns(
        { error: (reason) => `reason: ${reason}; score: added` },
        'complete, both given as the reason',
      ),
    ),
  }),

  cell('download', 'forget', 'one folio', {
    rules: [{ folio: 2, fault: { forget: true } }],
    expect: lost(2),
  }),
  cell('download', 'forget', 'every folio', { rules: forEver({ forget: true }), expect: lost(1, 2, 3) }),
  cell('download', 'neverFinishes', 'one folio', {
    rules: [{ folio: 2, fault: { neverFinishes: true } }],
    expect: outage,
    config: impatient,
  }),
  cell('download', 'expire', 'at once, once', { rules: once({ expire: '1ms' }), expect: triedAgain }),
  cell('download', 'expire', 'at once, one folio', {
    rules: [{ folio: 2, fault: { expire: '1ms' } }],
    expect: lost(2),
  }),
  cell('download', 'expire', 'at once, every folio', {
    rules: forEver({ expire: '1ms' }),
    expect: lost(1, 2, 3),
  }),
  cell('download', 'expire', 'after an hour', { rules: forEver({ expire: '1h' }), expect: done() }),
];
