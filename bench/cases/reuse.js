/** Known answers for a source in random order: from its bytes to durable hits. */
import { alternate } from '../alternate.js';
import { program } from '../lab.js';
import { measureNode } from '../measure.js';
import { of, shareOf, timesFaster, within } from '../rows.js';
import { checkSame } from '../same-files.js';

const CHANGED_PERCENT = 1;
const SHUFFLED = ['--order', 'shuffled', '--changed', `${CHANGED_PERCENT}`];
const DOUBLES_PERCENT = 20;
const DOUBLES = ['--doubles', `${DOUBLES_PERCENT}`];
const SEGMENTS = 90;

/** SQLite takes minutes for more. */
const MOST_FOR_SQLITE = 1_000_000;

export const reuse = {
  title: 'Reuse of bought answers',
  async run(lab) {
    const records = lab.recordsOr(10_000_000);
    const all = await makeNights(lab, records);
    const some = records > MOST_FOR_SQLITE ? await makeNights(lab, MOST_FOR_SQLITE) : all;
    const doubled = await lab.reuseSource(records, 'reuse-doubled.csv', ...SHUFFLED, ...DOUBLES);
    const doubles = Math.floor((records * DOUBLES_PERCENT) / 100);
    const folder = (name) => lab.path(`reuse-${name}`);
    const [filled, ofMany] = [
      await ours('fill', lab.emptyFolder('reuse-one'), all.known, 1),
      await ours('fill', lab.emptyFolder('reuse-many'), all.known, SEGMENTS),
    ];
    await ours('fill', lab.emptyFolder('reuse-some'), some.known, 1);
    lab.emptyFolder('reuse-none');
    await duckDb('fill', lab.emptyFolder('reuse-duckdb'), all.known);
    await sqlite('fill', lab.emptyFolder('reuse-sqlite'), some.known);
    const lookAt =
      (name, { path, changed }, found) =>
      async () =>
        checked(await ours('look', folder(name), path, 'once'), { changed, ...found });

    const lookUps = await alternate(
      lab.pairs,
      {
        one: lookAt('one', all.asked, { duplicates: 0 }),
        many: lookAt('many', all.asked, { duplicates: 0 }),
        doubles: lookAt('one', doubled, {}),
        first: lookAt('none', all.asked, { isFirst: true, duplicates: 0 }),
        firstDoubles: lookAt('none', doubled, { isFirst: true, duplicates: doubles }),
        duckDb: () => duckDb('look', folder('duckdb'), all.asked.path),
        some: lookAt('some', some.asked, { duplicates: 0 }),
        sqlite: () => sqlite('look', folder('sqlite'), some.asked.path),
      },
      async () => {
        // The last look-up in this store was that of the doubles.
        await lookAt('one', all.asked, {})();
        const hits = (name) => `${folder(name)}/hits.csv`;
        for (const name of ['one', 'many', 'some']) await ours('hits', folder(name), '-', hits(name));
        await duckDb('hits', folder('duckdb'), '-', hits('duckdb'));
        await sqlite('hits', folder('sqlite'), '-', hits('sqlite'));
        await checkSame(hits('one'), hits('many'), hits('duckdb'));
        await checkSame(hits('some'), hits('sqlite'));
      },
    );
    const { one, many, first } = lookUps;
    const againstDuckDb = { what: 'look-ups', beside: 'DuckDB’s join', ours: one, peer: lookUps.duckDb };
    const againstSqlite = {
      what: `${some.records} look-ups`,
      beside: 'SQLite and csv-parse',
      ours: lookUps.some,
      peer: lookUps.sqlite,
    };
    const sqliteAlone = lookUps.sqlite.map(({ lookCpuSeconds }) => ({ workCpuSeconds: lookCpuSeconds }));
    const perRecord = one.map(({ workCpuSeconds }) => (workCpuSeconds * 1e6) / records);
    const compared = { figure: 'workCpuSeconds' };
    return {
      notes: [
        `${records} known answers, ${records} records asked in random order, ${CHANGED_PERCENT} % of them changed;`,
        'a source of 8 columns, 3 of them sent; from its bytes to the choice on the disk.',
        'A goal of 1.5 million look-ups a CPU second is 0.667 µs each.',
        `Doubles: ${DOUBLES_PERCENT} % of the records, sent once; on a first night nothing is known.`,
        'DuckDB on one thread joins the source with a Parquet file of the three sent columns and the answers, and writes the joined rows as Parquet;',
        `SQLite finds the answers in a table with the sent fields as its key, one look-up a record, and keeps those that it found; it has ${some.records} known and asked records, and its source is read by csv-parse.`,
        'All found the same answers for the same records.',
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
        within({
          what: 'peak memory, doubles',
          values: of(lookUps.doubles, 'peakRssMB'),
          unit: 'MB',
          atMost: 150,
        }),
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
        shareOf({
          ...compared,
          what: 'doubles',
          beside: 'none',
          ours: lookUps.doubles,
          peer: one,
          atMost: 1.1,
        }),
        shareOf({
          ...compared,
          what: 'doubles, first night',
          beside: 'none',
          ours: lookUps.firstDoubles,
          peer: first,
          atMost: 1.1,
        }),
        timesFaster({ ...againstDuckDb, ...compared }),
        timesFaster({ ...againstDuckDb, what: 'look-ups, peak memory', figure: 'peakRssMB' }),
        timesFaster({ ...againstSqlite, ...compared }),
        timesFaster({ ...againstSqlite, beside: 'SQLite alone', peer: sqliteAlone, ...compared }),
        within({
          what: 'a look-up by SQLite alone',
          values: sqliteAlone.map(({ workCpuSeconds }) => (workCpuSeconds * 1e6) / some.records),
          unit: 'µs CPU',
        }),
        timesFaster({ ...againstSqlite, what: `${againstSqlite.what}, peak memory`, figure: 'peakRssMB' }),
      ],
    };
  },
};

/** A source whose answers are known, and the one of the next night. */
async function makeNights(lab, records) {
  const { path: known } = await lab.reuseSource(records, `reuse-known-${records}.csv`);
  const asked = await lab.reuseSource(records, `reuse-asked-${records}.csv`, ...SHUFFLED);
  return { records, known, asked };
}

function ours(...args) {
  return measureNode([program('ours/reuse.js'), ...args.map(String)]);
}

function duckDb(...args) {
  return measureNode([program('peers/reuse-duckdb.js'), ...args]);
}

function sqlite(...args) {
  return measureNode([program('peers/reuse-sqlite.js'), ...args]);
}

/**
 * @param duplicates how many there must be; undefined: some of the changed records.
 * @throws when a look-up has not found what it must.
 */
function checked(found, { changed, isFirst = false, duplicates = found.duplicates }) {
  const misses = found.sent + found.duplicates;
  const isRight = found.reused + misses === found.records && misses === (isFirst ? found.records : changed);
  if (isRight && found.duplicates === duplicates) return found;
  throw new Error(
    `${found.reused} reused, ${found.sent} sent and ${found.duplicates} doubles of ${found.records}`,
  );
}
