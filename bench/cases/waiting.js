/** How long the client waits where it need not: requests, parts, folios, beside what the limits allow. */
import { writeFileSync } from 'node:fs';
import { jobConfig } from '../job.js';
import { program } from '../lab.js';
import { measureNode } from '../measure.js';
import { median } from '../rows.js';
import { cli } from '../service.js';
import { slowSync } from '../waiting/slow-sync.js';
import { withWaitingService } from '../waiting/waiting-service.js';

const RATES = [10, 100, 1000];
const RATE_SECONDS = 10;
const LATENCY_MS = 20;

/** `bound` in seconds: what no client could undercut by waiting better. */
const JOBS = [
  {
    what: 'one folio of 100 parts, 200 ms latency',
    folios: 1,
    service: { folioMs: 0, latencyMs: 200, parts: 100 },
    requestsPerSecond: 100,
    // An upload, a poll, and the parts, four at a time.
    bound: 27 * 0.2,
    atMost: 1.15,
  },
  {
    what: '64 folios of 5 s, 8 of 16 are admitted, 10 requests/s',
    folios: 64,
    service: { folioMs: 5_000, latencyMs: LATENCY_MS, admits: 8 },
    bound: 8 * 5,
    atMost: 1.08,
  },
  {
    what: '64 folios of 5 s, 8 of 16 are admitted, 100 requests/s',
    folios: 64,
    service: { folioMs: 5_000, latencyMs: LATENCY_MS, admits: 8 },
    requestsPerSecond: 100,
    bound: 8 * 5,
    atMost: 1.08,
  },
  {
    what: '64 folios of 5 s, 10 requests/s',
    folios: 64,
    service: { folioMs: 5_000, latencyMs: LATENCY_MS },
    bound: 4 * 5,
    atMost: 1.1,
  },
  {
    what: '200 folios of 1 s, 100 requests/s',
    folios: 200,
    service: { folioMs: 1_000, latencyMs: LATENCY_MS },
    requestsPerSecond: 100,
    bound: Math.ceil(200 / 16),
    atMost: 1.15,
  },
];

export const waiting = {
  title: 'Waiting',
  async run(lab) {
    const rows = [];
    for (const rate of RATES) rows.push(...(await rateRows(lab, rate)));
    for (const job of JOBS) rows.push(await jobRow(lab, job));
    const syncs = await slowSync(lab);
    rows.push(...syncs.rows);
    return {
      notes: [
        'A service in another process that only waits (bench/waiting/service.js), the default settings where the row names no others.',
        'Requests: those that the limiter let start in 10 s beside those allowed; and the most in any second, where they are sent and where they arrive.',
        'Jobs: from the first request to the last reply as the service saw them, beside the larger of waves of `folios` times a folio’s time and three requests a folio at the rate.',
        syncs.notes,
        'With 10 requests in any second no client ends 64 folios of 5 s before 23 s (1.15): 16 polls and 16 uploads follow the first end at 5 s, so the 32nd upload is sent at 8 s, the 48th at 13 s, the 64th at 18 s.',
      ],
      rows,
    };
  },
};

async function rateRows(lab, rate) {
  const runs = [];
  for (let pair = 0; pair < lab.pairs; pair++) {
    await withWaitingService({ latencyMs: 5, folioMs: 1e9 }, async (baseUrl, figures) => {
      const form = new FormData();
      form.append('file', new Blob(['a\n1\n']), 'a.csv');
      await fetch(`${baseUrl}/naics/naics/external/upload`, { method: 'POST', body: form });
      // The upload just now is not the client's.
      await new Promise((resolve) => setTimeout(resolve, 1100));
      const args = [program('ours/requests.js'), baseUrl, `${rate}`, `${RATE_SECONDS}`];
      runs.push({ ...(await measureNode(args)), arrived: (await figures()).mostInASecond });
    });
  }
  const reached = runs.map((run) => run.reached);
  const most = Math.max(...runs.map((run) => run.mostInASecond));
  const arrived = Math.max(...runs.map((run) => run.arrived));
  return [
    {
      what: `requests reached at ${rate} a second`,
      ours: percent(median(reached)),
      beside: `allowed: ${rate} a second`,
      ratio: reached.map(percent).join(', '),
      goal: '≥ 98 %',
      reached: median(reached) >= 0.98 ? 'yes' : '**no**',
    },
    {
      what: `most in any second at ${rate} a second`,
      ours: `${most} sent, ${arrived} arrived`,
      beside: `allowed: ${rate}`,
      ratio: '',
      goal: `≤ ${rate} sent`,
      reached: most <= rate ? 'yes' : '**no**',
    },
  ];
}

async function jobRow(lab, { what, folios, service, requestsPerSecond = 10, bound, atMost }) {
  const seen = [];
  for (let pair = 0; pair < Math.min(lab.pairs, 3); pair++) {
    await withWaitingService(service, async (baseUrl, figures) => {
      await measureNode([
        cli,
        'run',
        writeWaitingJob(lab, { baseUrl, folios, requestsPerSecond }),
        '--log-level',
        'warn',
      ]);
      seen.push(await figures());
    });
  }
  const ratios = seen.map(({ seconds }) => seconds / bound);
  const { requests, refused } = seen[0];
  return {
    what,
    ours: `${median(seen.map(({ seconds }) => seconds)).toFixed(2)} s, ${requests} requests, ${refused} refused`,
    beside: `bound: ${bound.toFixed(1)} s`,
    ratio: ratios.map((ratio) => ratio.toFixed(3)).join(', '),
    goal: `≤ ${atMost}`,
    reached: median(ratios) <= atMost ? 'yes' : '**no**',
  };
}

/** The default settings, except for the rate and the chunks of a hundred records. */
function writeWaitingJob(lab, { baseUrl, folios, requestsPerSecond }) {
  const work = lab.emptyFolder('waiting');
  const source = `${work}/source.csv`;
  const lines = Array.from({ length: 100 * folios }, (_, n) => `name ${n},${n} Main St,MT\n`);
  writeFileSync(source, `name,address,state\n${lines.join('')}`);
  const columns = { name: 'name', address: 'address', state: 'state' };
  const { poll, ...config } = jobConfig({ source, work, baseUrl, columns });
  config.service.requestsPerSecond = requestsPerSecond;
  config.chunks = { maxRecords: 100 };
  writeFileSync(`${work}/config.json`, JSON.stringify(config));
  return `${work}/config.json`;
}

function percent(share) {
  return `${(100 * share).toFixed(1)} %`;
}
