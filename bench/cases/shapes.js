/** What a record costs in jobs of other shapes than the plain one. */
import { writeFileSync } from 'node:fs';
import { alternate } from '../alternate.js';
import { CHUNK_RECORDS } from '../job.js';
import { measureClient } from '../measure-client.js';
import { of, shareOf, within } from '../rows.js';
import { SHAPES } from '../shapes/shapes.js';

export const shapes = {
  title: 'Cost by shape',
  async run(lab) {
    const records = lab.recordsOr(500_000);
    const chosen = withCompared(lab.rowsOf(SHAPES, ['plain']));
    const sides = {};
    for (const [name, shape] of Object.entries(chosen)) {
      const measure = await (shape.prepare?.(lab, records) ?? measureRun(lab, records, name, shape));
      sides[name] = async () => perRecord(await measure(), records * (shape.sent ?? 1));
    }
    const samples = await alternate(lab.pairs, sides);
    const rows = Object.entries(chosen).map(([name, { what, atMost, beside = 'plain', isTimed }]) => {
      const figure = 'microseconds';
      const ours = samples[name];
      if (isTimed) return within({ what, values: of(ours, 'wallSeconds'), unit: 's', atMost });
      if (name === beside) return within({ what, values: of(ours, figure), unit: 'µs' });
      return shareOf({ what, beside: chosen[beside].what, ours, peer: samples[beside], figure, atMost });
    });
    return {
      notes: [
        `The whole client over ${records} records against \`foliopipe serve --predictor hash\` in another process:`,
        `CPU time a record, start included, beside the plain shape of the same run, which has chunks and parts of ${CHUNK_RECORDS} records and joins by the key.`,
      ],
      rows,
    };
  },
};

/** Measures a run of this shape; the faults of its service are written into a file. */
async function measureRun(lab, records, name, { content, config, service = [] }) {
  const source = await lab.source(records, 'comma', false, content);
  return () => {
    const work = lab.newFolder(`shape-${name}`);
    const options = service.map((option) => {
      if (typeof option === 'string') return option;
      const path = `${work}/faults.json`;
      writeFileSync(path, JSON.stringify(option));
      return path;
    });
    return measureClient(work, source, undefined, { config, service: options });
  };
}

/** The entries, and those that they are compared with. */
function withCompared(entries) {
  const compared = Object.values(entries).map(({ beside = 'plain' }) => [beside, SHAPES[beside]]);
  return { ...Object.fromEntries(compared), ...entries };
}

function perRecord({ cpuSeconds, wallSeconds }, records) {
  return { microseconds: (cpuSeconds * 1e6) / records, wallSeconds };
}
