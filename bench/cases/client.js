/** The whole client as a process of its own, against the local service in another one. */
import { alternate } from '../alternate.js';
import { TOKEN } from '../job.js';
import { program } from '../lab.js';
import { measureNode } from '../measure.js';
import { measureClient } from '../measure-client.js';
import { of, shareOf, within } from '../rows.js';
import { checkSame } from '../same-files.js';
import { withService } from '../service.js';

export const client = {
  title: 'The whole client',
  async run(lab) {
    const records = lab.recordsOr(1_000_000);
    const source = await lab.source(records);
    const byPeer = lab.path('client-peer.csv');
    let work;
    const { ours, peer } = await alternate(
      lab.pairs,
      {
        ours: () => {
          work = lab.emptyFolder('client');
          return measureClient(work, source);
        },
        peer: () =>
          withService(lab.emptyFolder('client-peer'), (baseUrl) =>
            measureNode([program('peers/client.js'), source, byPeer, baseUrl, TOKEN]),
          ),
      },
      () => checkSame(`${work}/out.csv`, byPeer),
    );
    const against = { what: 'the client', beside: 'an afternoon’s client', ours, peer };
    return {
      notes: [
        `${records} records in chunks of 10,000 against \`foliopipe serve --predictor hash\` in another process, a new one for each run:`,
        '`foliopipe run` beside a client of csv-parse, p-limit, fetch and csv-stringify, which keeps nothing that would survive a kill.',
        'The figures are those of the client’s process only; both wrote the same bytes.',
        'Client and service share the cores, so the wall time is of both together.',
      ],
      rows: [
        shareOf({ ...against, figure: 'cpuSeconds', atMost: 0.15 }),
        shareOf({ ...against, figure: 'wallSeconds', atMost: 1 }),
        shareOf({ ...against, figure: 'peakRssMB' }),
        // On the processor on which the goal was set it took 1.75 to 2.0 s.
        within({ what: 'the client', values: of(ours, 'cpuSeconds'), unit: 's CPU', atMost: 1.3 }),
      ],
    };
  },
};
