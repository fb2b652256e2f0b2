/** An output in other formats: Parquet beside DuckDB alone, gzip beside gzip; and what it takes of our own memory. */
import { readFileSync } from 'node:fs';
import { alternate } from '../alternate.js';
import { program } from '../lab.js';
import { measureCommand, measureNode } from '../measure.js';
import { measureClient } from '../measure-client.js';
import { answer, text } from '../peers/duckdb.js';
import { of, shareOf, within } from '../rows.js';

export const formats = {
  title: 'Formats of the output',
  async run(lab) {
    const records = lab.recordsOr(5_000_000);
    const work = lab.emptyFolder('formats');
    await measureClient(work, await lab.source(records));
    const file = `${work}/out.csv`;
    const { output } = JSON.parse(readFileSync(`${file}.manifest.json`, 'utf8'));
    const peerFile = `${work}/peer.parquet`;
    const ours = (format) => measureNode([program('ours/format.js'), file, format]);
    const sides = {
      parquet: () => ours('parquet'),
      duckdb: () => measureNode([program('peers/parquet-duckdb.js'), file, peerFile]),
      gz: () => ours('csv.gz'),
      gzip: () => measureCommand('sh', ['-c', `gzip -1 -c ${file} > ${work}/peer.gz`]),
    };
    const { parquet, duckdb, gz, gzip } = await alternate(lab.pairs, sides, async () => {
      const [a, b] = [`${file}.parquet`, peerFile].map((path) => `read_parquet(${text(path)})`);
      const differing = `SELECT count(*) FROM ((FROM ${a} EXCEPT ALL FROM ${b}) UNION ALL (FROM ${b} EXCEPT ALL FROM ${a}))`;
      if ((await answer(differing)) !== 0) throw new Error('ours and the peer have written other rows');
      if ((await answer(`SELECT count(*) FROM ${a}`)) !== records) throw new Error('rows are missing');
    });
    const beside = 'DuckDB alone';
    return {
      notes: [
        `${records} records, ${(output.bytes / 1e6).toFixed(0)} MB of CSV. Ours is what a publication adds: the file, synced and hashed. It reads and writes by DuckDB in a child process, with two threads; DuckDB alone has as many, and zstd and row groups of 100,000 as well. Both wrote the same rows.`,
      ],
      rows: [
        shareOf({ what: 'Parquet', beside, figure: 'wallSeconds', ours: parquet, peer: duckdb, atMost: 1.1 }),
        within({ what: 'peak memory of ours', values: of(parquet, 'peakRssMB'), unit: 'MB', atMost: 150 }),
        shareOf({
          what: 'peak memory of the child',
          beside,
          figure: 'peakRssMB',
          ours: parquet.map(({ childRssMB }) => ({ peakRssMB: childRssMB })),
          peer: duckdb,
        }),
        shareOf({ what: 'gzip', beside: '`gzip -1`', figure: 'wallSeconds', ours: gz, peer: gzip }),
        within({ what: 'peak memory, gzip', values: of(gz, 'peakRssMB'), unit: 'MB', atMost: 150 }),
      ],
    };
  },
};
