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
 */
const FAILED = 0.5;

export const SHAPES = {
  plain: { what: 'the plain shape' },
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
};

function withoutKey() {
  return { upload: { keyColumn: null } };
}
