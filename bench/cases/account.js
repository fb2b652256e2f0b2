/** Forty pipelines in four processes that share an account: what the service sees of its limits, and how long it takes. */
import { writeFileSync } from 'node:fs';
import { jobConfig } from '../job.js';
import { program } from '../lab.js';
import { measureNode } from '../measure.js';
import { withPostgres } from '../postgres.js';
import { median } from '../rows.js';
import { mostInASecond } from '../waiting/sliding-second.js';
import { withWaitingService } from '../waiting/waiting-service.js';

const PROCESSES = 4;
const PIPELINES = 40;
const FOLIOS = 16;
const PER_SECOND = 20;
const CHUNK_RECORDS = 10;
const LATENCY_MS = 5;

/** Which limit is reached, and how many chunks each pipeline has. */
const JOBS = {
  folios: { name: 'folios of 10 s', folioMs: 10_000, chunks: 4 },
  requests: { name: 'folios of 1 s', folioMs: 1000, chunks: 20 },
};

export const account = {
  title: 'One account of many pipelines',
  async run(lab) {
    const rows = [];
    await withPostgres(lab.path('account-server'), async (url, serverCpu) => {
      for (const job of Object.values(lab.rowsOf(JOBS, [])))
        rows.push(...(await jobRows(lab, job, { url, serverCpu })));
    });
    return {
      notes: [
        `${PIPELINES} pipelines in ${PROCESSES} processes with one state in Postgres; their account allows ${FOLIOS} open folios and ${PER_SECOND} requests a second. The service is a process that only waits (bench/waiting/service.js) and counts what reaches it.`,
        `The bound is the larger of waves of ${FOLIOS} folios times a folio's time, and three requests a folio at ${PER_SECOND} a second. A wait is one share long if each other pipeline that waits gets one permit, or request, before this pipeline gets its next one.`,
      ],
      rows,
    };
  },
};

async function jobRows(lab, { name, folioMs, chunks }, { url, serverCpu }) {
  const runs = [];
  for (let pair = 0; pair < Math.min(lab.pairs, 3); pair++) {
    await withWaitingService({ folioMs, latencyMs: LATENCY_MS }, async (baseUrl, figures) => {
      const files = Array.from({ length: PIPELINES }, (_, nth) =>
        writePipeline(lab, { baseUrl, url, chunks, name: `p${nth}` }),
      );
      const before = serverCpu();
      const processes = await Promise.all(
        Array.from({ length: PROCESSES }, (_, nth) =>
          measureNode([program('ours/pipelines.js'), ...files.filter((_, at) => at % PROCESSES === nth)]),
        ),
      );
      const failure = processes.flatMap(({ failures }) => failures)[0];
      if (failure !== undefined) throw new Error(failure);
      const sent = processes.flatMap((each) => each.sent).sort((a, b) => a - b);
      const sum = (figure) => processes.reduce((all, each) => all + each[figure], 0);
      runs.push({
        ...(await figures()),
        sent: mostInASecond(sent),
        asks: processes.flatMap((each) => each.asks),
        slots: processes.flatMap((each) => each.slots),
        queries: sum('queries'),
        cpuSeconds: sum('cpuSeconds'),
        serverCpuSeconds: serverCpu() - before,
      });
    });
  }
  const folios = PIPELINES * chunks;
  const bound = Math.max((Math.ceil(folios / FOLIOS) * folioMs) / 1000, (3 * folios - 1) / PER_SECOND);
  const most = (figure) => Math.max(...runs.map((run) => run[figure]));
  const row = (what, ours, beside, figure, goal, isReached) => ({
    what: `${name}: ${what}`,
    ours,
    beside,
    ratio: figure,
    goal,
    reached: goal === '' ? '' : isReached ? 'yes' : '**no**',
  });
  const ratios = runs.map(({ seconds }) => seconds / bound);
  const permitShares = runs.map(({ asks }) => longestWait(asks));
  const slotShares = runs.map(({ slots }) => Math.max(...slots) / PIPELINES);
  const each = (figure) => runs.map((run) => (run[figure] / folios).toFixed(1)).join(', ');
  const shown = (shares) => shares.map((share) => share.toFixed(2)).join(', ');
  const seconds = median(runs.map((run) => run.seconds));
  return [
    row(
      'most requests in any second',
      `${most('sent')} sent, ${most('mostBegun')} arrived`,
      `allowed: ${PER_SECOND}`,
      '',
      `≤ ${PER_SECOND}`,
      most('sent') <= PER_SECOND && most('mostBegun') <= PER_SECOND,
    ),
    row(
      'most folios open at once',
      `${most('mostOpen')}`,
      `allowed: ${FOLIOS}`,
      '',
      `≤ ${FOLIOS}`,
      most('mostOpen') <= FOLIOS,
    ),
    row(
      'first request to last reply',
      `${seconds.toFixed(1)} s`,
      `bound: ${bound.toFixed(1)} s`,
      ratios.map((ratio) => ratio.toFixed(3)).join(', '),
      '≤ 1.1',
      median(ratios) <= 1.1,
    ),
    row(
      'longest wait for a permit, in shares',
      shown(permitShares),
      '',
      '',
      '≤ 2',
      Math.max(...permitShares) <= 2,
    ),
    row(
      'longest wait for a request, in shares',
      shown(slotShares),
      '',
      '',
      '≤ 2',
      Math.max(...slotShares) <= 2,
    ),
    row('requests a chunk', each('requests'), '', '', ''),
    row('statements a chunk', each('queries'), '', '', ''),
    row(
      'statements a second',
      runs.map((run) => (run.queries / run.seconds).toFixed(0)).join(', '),
      '',
      '',
      '',
    ),
    row(
      'CPU of the processes, and of Postgres',
      `${median(runs.map((run) => run.cpuSeconds)).toFixed(1)} s, ${median(runs.map((run) => run.serverCpuSeconds)).toFixed(1)} s`,
      '',
      '',
      '',
    ),
  ];
}

/**
 * The longest wait for a permit, in shares: the permits that others got meanwhile, over the most pipelines that waited
 * at the same time.
 */
function longestWait(asks) {
  const waits = new Map();
  let given = 0;
  let longest = 0;
  for (const { pipeline, granted, waits: isWaiting } of asks.toSorted((a, b) => a.at - b.at)) {
    const wait = waits.get(pipeline);
    if (granted > 0 && wait !== undefined) {
      longest = Math.max(longest, (given - wait.given) / wait.most);
      waits.delete(pipeline);
    }
    given += granted;
    if (isWaiting && !waits.has(pipeline)) waits.set(pipeline, { given, most: 0 });
    for (const one of waits.values()) one.most = Math.max(one.most, waits.size);
  }
  return longest;
}

function writePipeline(lab, { baseUrl, url, chunks, name }) {
  const work = lab.emptyFolder(`account-${name}`);
  const source = `${work}/source.csv`;
  const lines = Array.from(
    { length: CHUNK_RECORDS * chunks },
    (_, n) => `name ${name} ${n} ${Date.now()},${n} Main St,MT\n`,
  );
  writeFileSync(source, `name,address,state\n${lines.join('')}`);
  const columns = { name: 'name', address: 'address', state: 'state' };
  const {
    poll: _poll,
    stateDir: _stateDir,
    ...config
  } = jobConfig({ source, work, baseUrl, columns, chunks: { maxRecords: CHUNK_RECORDS } });
  config.service.requestsPerSecond = PER_SECOND;
  const keys = { pipeline: name, state: url, scratchDir: `${work}/scratch`, concurrency: { folios: FOLIOS } };
  writeFileSync(`${work}/config.json`, JSON.stringify({ ...config, ...keys }));
  return `${work}/config.json`;
}
