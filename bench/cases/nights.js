/** Nights with and without reuse: what a second night costs, beside writing its output again. */
import { mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { alternate } from '../alternate.js';
import { writeJob } from '../job.js';
import { measureNode } from '../measure.js';
import { of, shareOf, within } from '../rows.js';
import { checkSame } from '../same-files.js';
import { cli, withService } from '../service.js';

const CHANGED_PERCENT = 1;
export const COLUMNS = { name: 'Name', address: 'Address', state: 'State' };
export const REUSE = ['--set', 'reuse.maxAge=90d'];
export const DELTA = ['--set', 'source.key=[Account]', '--set', 'output.delta=true'];

export const nights = {
  title: 'Nights that reuse answers',
  async run(lab) {
    const records = lab.recordsOr(1_000_000);
    const known = await lab.reuseSource(records, 'night-1.csv');
    const changes = ['--order', 'shuffled', '--changed', `${CHANGED_PERCENT}`];
    const asked = await lab.reuseSource(records, 'night-2.csv', ...changes);
    const expected = await nightWithoutReuse(lab, asked.path);
    const round = () => measureNights(lab.emptyFolder('nights'), { records, known, asked, expected });
    const { round: rounds } = await alternate(lab.pairs, { round }, () =>
      checkSame(
        expected.output,
        `${lab.path('nights')}/reuse/out.csv`,
        `${lab.path('nights')}/delta/out.csv`,
      ),
    );
    const side = (name) => rounds.map((measured) => measured[name]);
    const published = { beside: '`foliopipe publish` of the same output', peer: side('published') };
    const besideOff = { beside: 'reuse off', peer: side('off') };
    const cpu = { figure: 'cpuSeconds' };
    const second = { what: 'the second night', ours: side('second') };
    const withDelta = { what: 'the second night with `output.delta`', ours: side('secondDelta') };
    const nothingNew = { what: 'a night with nothing new', ours: side('nothingNew') };
    const first = { what: 'the first night', ours: side('first') };
    const peak = ({ what, ours }) =>
      within({ what: `${what}, peak memory`, values: of(ours, 'peakRssMB'), unit: 'MB', atMost: 150 });
    return {
      notes: [
        `${records} records in chunks of 10,000 against \`foliopipe serve --predictor hash\` in another process.`,
        `On the second night the order is random and ${asked.changed} records are changed; these are sent.`,
        'On the night with nothing new the source is that of the second one, and nothing is sent.',
        '`foliopipe publish` writes the output of the second night again, without `output.delta`.',
        'The figures are those of the client’s process only. The outputs have the bytes of a night without reuse.',
      ],
      rows: [
        shareOf({ ...second, ...published, ...cpu, atMost: 1.25 }),
        shareOf({ ...withDelta, ...published, ...cpu, atMost: 1.4 }),
        shareOf({ ...nothingNew, ...published, ...cpu }),
        shareOf({ ...second, ...besideOff, ...cpu }),
        shareOf({ ...second, ...besideOff, figure: 'wallSeconds' }),
        shareOf({ ...first, ...besideOff, ...cpu }),
        ...[second, withDelta, nothingNew, first].map(peak),
        within({
          what: 'the first night’s segment, a record',
          values: of(side('first'), 'segmentBytes').map((bytes) => bytes / records),
          unit: 'B',
          atMost: 40,
        }),
      ],
    };
  },
};

/** What the second night must write: its output, and the SHA-256 of that in the manifest. */
async function nightWithoutReuse(lab, source) {
  const work = lab.emptyFolder('nights-expected');
  return withService(`${work}/service`, async (baseUrl) => {
    const { sha256 } = await openJob(work, baseUrl, []).run(source);
    return { output: `${work}/out.csv`, sha256 };
  });
}

/** All nights once, each with what it took. They need one service: answers of a local one serve no other address. */
function measureNights(work, { records, known, asked, expected }) {
  return withService(`${work}/service`, async (baseUrl) => {
    const job = (name, settings) => openJob(`${work}/${name}`, baseUrl, settings);
    const off = await job('off', []).run(known.path);

    const reuse = job('reuse', REUSE);
    const first = await reuse.run(known.path);
    checkNight(first, { records, sent: records, sha256: off.sha256 });
    first.segmentBytes = reuse.segmentBytes();
    const second = await reuse.run(asked.path);
    checkNight(second, { records, sent: asked.changed, sha256: expected.sha256 });
    const published = await reuse.publish(asked.path, second.run);
    checkNight(published, { records, sent: asked.changed, sha256: expected.sha256 });
    const nothingNew = await reuse.run(asked.path, '--new');
    checkNight(nothingNew, { records, sent: 0, sha256: expected.sha256 });

    const keyed = job('delta', [...REUSE, ...DELTA]);
    await keyed.run(known.path);
    const secondDelta = await keyed.run(asked.path);
    checkNight(secondDelta, { records, sent: asked.changed, sha256: expected.sha256 });
    checkDelta(`${work}/delta/out.csv.delta.csv`, secondDelta.delta, asked.changed);
    return { off, first, second, published, nothingNew, secondDelta };
  });
}

/** A pipeline with a state of its own, in `work`. */
export function openJob(work, baseUrl, settings) {
  mkdirSync(work, { recursive: true });
  const config = writeJob({ source: '', work, baseUrl, columns: COLUMNS });
  const measure = async (source, ...args) => {
    const options = ['--config', config, '--source', source, ...settings, '--log-level', 'warn'];
    const measured = await measureNode([cli, ...args, ...options]);
    const manifest = JSON.parse(readFileSync(`${work}/out.csv.manifest.json`, 'utf8'));
    const { run, counts, origins, output, delta } = manifest;
    return { ...measured, run, counts, origins, sha256: output.sha256, delta };
  };
  return {
    run: (source, ...flags) => measure(source, 'run', ...flags),
    publish: (source, run) => measure(source, 'publish', run),
    segmentBytes: () => {
      const folder = `${work}/state/reuse/segments`;
      return readdirSync(folder).reduce((bytes, name) => bytes + statSync(`${folder}/${name}`).size, 0);
    },
  };
}

/** @throws when a night has not sent what it must, or has written something else. */
function checkNight({ counts, origins, sha256 }, expected) {
  const { successful, failed, read } = counts;
  const isWhole = read === expected.records && successful + failed === expected.records;
  const { sent, reused } = origins;
  const isSent = sent.records === expected.sent && sent.records + reused.records === expected.records;
  if (isWhole && isSent && sha256 === expected.sha256) return;
  const found = JSON.stringify({ counts, origins, sha256 });
  throw new Error(`a night ended with ${found}, expected ${JSON.stringify(expected)}`);
}

/** @throws unless the delta holds the changed records and no others. */
function checkDelta(path, { added, changed, removed }, expected) {
  const rows = readFileSync(path, 'latin1').split('\n').length - 2;
  if (added === 0 && changed === expected && removed === 0 && rows === expected) return;
  throw new Error(`the delta has ${rows} rows: ${added} added, ${changed} changed, ${removed} removed`);
}
