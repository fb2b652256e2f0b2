/** Known answers for a source in random order: from its bytes to durable hits. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { alternate } from '../alternate.js';
import { program } from '../lab.js';
import { measureCommand, measureNode } from '../measure.js';
import { of, shareOf, within } from '../rows.js';

const CHANGED_PERCENT = 1;
const DOUBLES_PERCENT = 20;
const SEGMENTS = 90;

export const reuse = {
  title: 'Reuse of bought answers',
  async run(lab) {
    const records = lab.recordsOr(10_000_000);
    const source = async (name, ...options) => {
      const path = lab.path(name);
      const args = ['--records', `${records}`, '--out', path, ...options];
      await measureCommand(process.execPath, [program('reuse-source.js'), ...args]);
      return path;
    };
    const shuffled = ['--order', 'shuffled', '--changed', `${CHANGED_PERCENT}`];
    const known = await source('reuse-known.csv');
    const asked = await source('reuse-asked.csv', ...shuffled);
    const doubled = await source('reuse-doubled.csv', ...shuffled, '--doubles', `${DOUBLES_PERCENT}`);
    const fill = (name, segments) =>
      measureNode([program('ours/reuse.js'), 'fill', lab.emptyFolder(name), known, `${segments}`]);
    const filled = await fill('reuse-one', 1);
    const ofMany = await fill('reuse-many', SEGMENTS);
    const empty = lab.path('reuse-empty');
    mkdirSync(join(empty), { recursive: true });
    const look = (folder, path) =>
      measureNode([program('ours/reuse.js'), 'look', folder, path, 'once']).then((found) => {
        checkCounts(found, folder === empty);
        return found;
      });

    const sides = await alternate(lab.pairs, {
      one: () => look(lab.path('reuse-one'), asked),
      many: () => look(lab.path('reuse-many'), asked),
      doubles: () => look(lab.path('reuse-one'), doubled),
      first: () => look(empty, asked),
      firstDoubles: () => look(empty, doubled),
    });
    const { one, many, doubles, first, firstDoubles } = sides;
    const perRecord = one.map(({ workCpuSeconds }) => (workCpuSeconds * 1e6) / records);
    const compared = { figure: 'workCpuSeconds' };
    return {
      told: [
        `${records} known answers, ${records} records asked in random order, ${CHANGED_PERCENT} % of them changed;`,
        'a source of 8 columns, 3 of them sent; from its bytes to the choice on the disk.',
        'A goal of 1.5 million look-ups a CPU second is 0.667 µs each.',
        `Doubles: ${DOUBLES_PERCENT} % of the records, sent once; on a first night nothing is known.`,
      ],
      rows: [
        within({ what: 'a look-up', values: perRecord, unit: 'µs CPU', atMost: 0.667 }),
        within({ what: 'peak memory', values: of(one, 'peakRssMB'), unit: 'MB', atMost: 150 }),
        within({
          what: `peak memory, ${SEGMENTS} segments`,
          values: of(many, 'peakRssMB'),
          unit: 'MB',
          atMost: 150,
        }),
        within({ what: 'peak memory, doubles', values: of(doubles, 'peakRssMB'), unit: 'MB', atMost: 150 }),
        within({ what: 'on the disk, a record', values: [filled.bytesARecord], unit: 'B', atMost: 40 }),
        within({
          what: `on the disk, a record, ${SEGMENTS} segments`,
          values: [ofMany.bytesARecord],
          unit: 'B',
          atMost: 40,
        }),
        within({ what: 'writing the segment', values: [filled.workCpuSeconds], unit: 's CPU' }),
        within({ what: 'writing the segment, memory', values: [filled.peakRssMB], unit: 'MB', atMost: 150 }),
        shareOf({
          ...compared,
          what: `${SEGMENTS} segments`,
          beside: 'one',
          ours: many,
          peer: one,
          atMost: 1.15,
        }),
        shareOf({ ...compared, what: 'doubles', beside: 'none', ours: doubles, peer: one, atMost: 1.1 }),
        shareOf({
          ...compared,
          what: 'doubles, first night',
          beside: 'none',
          ours: firstDoubles,
          peer: first,
          atMost: 1.1,
        }),
      ],
    };
  },
};

/** @throws when a look-up has not found what it must. */
function checkCounts({ records, reused, sent, duplicates }, isFirst) {
  const misses = sent + duplicates;
  const expected = isFirst ? records : (records * CHANGED_PERCENT) / 100;
  const isRight = reused + misses === records && Math.abs(misses - expected) <= records / 500;
  if (!isRight) throw new Error(`${reused} reused, ${sent} sent and ${duplicates} doubles of ${records}`);
}
