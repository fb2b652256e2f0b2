/** What the delta adds to a publication, and `source.key` to the check of the source. */
import { cpSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { alternate } from '../alternate.js';
import { beginRun, onlyRun } from '../begin-run.js';
import { writeJob } from '../job.js';
import { measureNode } from '../measure.js';
import { measureClient } from '../measure-client.js';
import { of, shareOf, within } from '../rows.js';
import { cli } from '../service.js';

const KEY = ['--set', 'source.key=[Account]'];
const DELTA = [...KEY, '--set', 'output.delta=true'];

export const delta = {
  title: 'The delta',
  async run(lab) {
    const records = lab.recordsOr(2_000_000);
    const source = await lab.source(records);
    const plain = await finishedRun(lab, source, 'delta-none');
    const keyed = copyOf(lab, source, plain, 'delta-keyed');
    const fresh = await beginRun(lab.emptyFolder('delta-check'), source);
    const publish = ({ config, run }, more = []) =>
      measureNode([cli, 'publish', run, '--config', config, ...more]);
    const plan = (more = []) => measureNode([cli, 'plan', fresh, '--new', ...more]);
    const { without, withDelta, check, checkKeys } = await alternate(
      lab.pairs,
      {
        without: () => publish(plain),
        withDelta: () => publish(keyed, DELTA),
        check: () => plan(),
        checkKeys: () => plan(KEY),
      },
      () => {
        const { base, delta: found } = JSON.parse(
          readFileSync(`${keyed.work}/out.csv.manifest.json`, 'utf8'),
        );
        if (base !== null || found.added !== records) throw new Error('the first delta holds other rows');
      },
    );
    const compared = { what: '`foliopipe publish` with `output.delta`', beside: 'without' };
    const [ours, peer] = [withDelta, without];
    const checked = { what: 'the check with `source.key`', beside: 'without', ours: checkKeys, peer: check };
    return {
      notes: [
        `${records} records. The delta is computed against the publication before, of the same rows.`,
        'The check of the source is that of `foliopipe plan`, which compares all keys.',
      ],
      rows: [
        shareOf({ ...compared, ours, peer, figure: 'cpuSeconds', atMost: 1.4 }),
        shareOf({ ...compared, ours, peer, figure: 'wallSeconds' }),
        within({
          what: 'peak memory with `output.delta`',
          values: of(withDelta, 'peakRssMB'),
          unit: 'MB',
          atMost: 150,
        }),
        shareOf({ ...checked, figure: 'cpuSeconds' }),
        within({
          what: 'peak memory of the check',
          values: of(checkKeys, 'peakRssMB'),
          unit: 'MB',
          atMost: 150,
        }),
      ],
    };
  },
};

/** A run that is done and has all its parts on the disk. */
async function finishedRun(lab, source, name) {
  const work = lab.emptyFolder(name);
  await measureClient(work, source);
  return { work, config: `${work}/config.json`, run: basename(onlyRun(work)) };
}

/** The same run with a state and an output of its own. */
function copyOf(lab, source, { work: from, config: fromConfig, run }, name) {
  const work = lab.emptyFolder(name);
  cpSync(`${from}/state`, `${work}/state`, { recursive: true });
  const { baseUrl } = JSON.parse(readFileSync(fromConfig, 'utf8')).service;
  return { work, config: writeJob({ source, work, baseUrl }), run };
}
