/** Peak memory of the whole client at default limits, whatever the shape of records, answers and chunks. */
import { alternate } from '../alternate.js';
import { measureShape, memoryShapes, sourceOf } from '../memory-shapes.js';
import { of, within } from '../rows.js';
import { withService } from '../service.js';
import { DELTA, openJob, REUSE } from './nights.js';

const GOAL_MB = 150;
const MB = 1e6;
const CHANGED_PERCENT = 1;

export const memory = {
  title: 'Memory by shape',
  async run(lab) {
    const largest = lab.recordsOr(10_000_000);
    const records = largest / 10;
    const shapes = memoryShapes(records);
    const plain = { ...shapes[0], what: 'plain, ten times as many records', records: largest };
    const nights = await sourcesOfNights(lab, largest);
    const sides = {};
    for (const shape of [...shapes, plain]) {
      const source = await sourceOf(lab, shape);
      sides[shape.what] = () => measureShape(lab, shape, source);
    }
    const samples = await alternate(lab.pairs, { ...sides, nights: () => measureNights(lab, nights) });
    const night = (name) => samples.nights.map((measured) => measured[name]);
    const row = (what, measured, maxBytes = 0) =>
      within({
        what,
        values: of(measured, 'peakRssMB'),
        unit: 'MB',
        atMost: GOAL_MB + (2 * maxBytes) / MB,
      });
    return {
      notes: [
        `Peak of the client's process. The plain shape has ${records} records of seven columns, three of them sent, and three result columns; the others have fewer records.`,
        'The service, in another process, gives parts of 10,000 records and sends back what it got.',
        `A large chunk may take twice its size more. The nights are of ${largest} records, of which ${CHANGED_PERCENT} % are changed on the second one, against \`foliopipe serve --predictor hash\`.`,
      ],
      rows: [
        ...[shapes[0], plain, ...shapes.slice(1)].map(({ what, maxBytes }) =>
          row(what, samples[what], maxBytes),
        ),
        row('a first night with reuse', night('first')),
        row('a second night with reuse', night('second')),
        row('a second night with `output.delta`', night('secondDelta')),
      ],
    };
  },
};

async function sourcesOfNights(lab, records) {
  const known = await lab.reuseSource(records, 'memory-night-1.csv');
  const changes = ['--order', 'shuffled', '--changed', `${CHANGED_PERCENT}`];
  return { known, asked: await lab.reuseSource(records, 'memory-night-2.csv', ...changes) };
}

function measureNights(lab, { known, asked }) {
  const work = lab.emptyFolder('memory-nights');
  return withService(`${work}/service`, async (baseUrl) => {
    const reuse = openJob(`${work}/reuse`, baseUrl, REUSE);
    const first = await reuse.run(known.path);
    const second = await reuse.run(asked.path);
    const keyed = openJob(`${work}/delta`, baseUrl, [...REUSE, ...DELTA]);
    await keyed.run(known.path);
    return { first, second, secondDelta: await keyed.run(asked.path) };
  });
}
