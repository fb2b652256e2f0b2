/**
 * The shapes of a job whose CPU time a record is compared with the plain shape. To add one, add an entry.
 *
 * - `what`, `atMost`: the row, and the goal of its ratio.
 * - `content`: of the generated source (generate.js).
 * - `config`: keys that are not as usual, by section; `service`: options of `foliopipe serve`.
 * - `sent`: how many records are paid for each record of the source, where that is not one.
 * - `prepare(lab, records)`: in place of all of these, gives a function that measures once; `cpuSeconds` must be those
 *   of `records` records.
 * - `beside`: the entry to compare with, where that is not `plain`; an entry is no comparison if it names itself.
 * - `isTimed`: the row has the wall time, and the goal is in seconds.
 */
import { onDone } from './checkpoint.js';
import { inFiles } from './files.js';

const FAILED = 0.5;

export const SHAPES = {
  plain: { what: 'the plain shape' },
  chunks1000: { what: 'chunks of 1,000', atMost: 2.5, config: { chunks: { maxRecords: 1000 } } },
  chunks100: { what: 'chunks of 100', atMost: 14, config: { chunks: { maxRecords: 100 } } },
  smallParts: { what: 'parts of 100 records', atMost: 2.5, service: ['--segment-records', '100'] },
  echoAscii: { what: 'join by echoed columns, ASCII', atMost: 1.4, content: 'ascii', config: withoutKey() },
  echoMultiByte: {
    what: 'join by echoed columns, multi-byte',
    atMost: 1.4,
    content: 'multi-byte',
    config: withoutKey(),
  },
  echoEqual: {
    what: 'join by echoed columns, all tuples equal',
    atMost: 1.4,
    content: 'equal',
    config: withoutKey(),
  },
  bad: {
    what: 'a third of the records bad',
    atMost: 1.5,
    content: 'third-bad',
    config: { source: { maxRejected: '40%' } },
  },
  rounds: {
    what: 'half failed and sent again in a round, a record sent',
    atMost: 1.3,
    config: { failures: { tolerate: 1, rounds: 1 } },
    service: ['--faults', { rules: [{ on: 'upload', fault: { fail: `${FAILED * 100}%` } }] }],
    sent: 1 + FAILED,
  },
  files455: { what: '455 source files', atMost: 1.2, prepare: inFiles(455) },
  files1820: { what: '1,820 source files', atMost: 1.3, prepare: inFiles(1820) },
  doneSmall: {
    what: 'a second run on a done run, a checkpoint of 2 MB',
    beside: 'doneSmall',
    prepare: onDone('run'),
  },
  doneLarge: {
    what: 'a second run on a done run, a checkpoint of 700 MB',
    beside: 'doneSmall',
    atMost: 1.3,
    prepare: onDone('run', { isLarge: true }),
  },
  ledgerLarge: {
    what: 'ledger, a checkpoint of 700 MB',
    isTimed: true,
    atMost: 1,
    prepare: onDone('ledger', { isLarge: true }),
  },
};

function withoutKey() {
  return { upload: { keyColumn: null } };
}
