/** Source and results to the enriched output, in the source's order. */
import { basename } from 'node:path';
import { alternate } from '../alternate.js';
import { program } from '../lab.js';
import { measureNode } from '../measure.js';
import { finishedRun } from '../measure-client.js';
import { timesFaster, timesFasterInAll } from '../rows.js';
import { checkSame } from '../same-files.js';
import { cli } from '../service.js';
import { stageProgram } from '../stage-programs.js';

export const merging = {
  title: 'Merging',
  async run(lab) {
    const records = lab.recordsOr(2_000_000);
    const source = await lab.source(records);
    const { config, folder, published } = await finishedRun(lab, source);
    const output = lab.path('merged-ours.csv');
    const byCsvParse = lab.path('merged-csv-parse.csv');
    const byDuckDb = lab.path('merged-duckdb.csv');
    const { ours, csvParse, duckDb, publish } = await alternate(
      lab.pairs,
      {
        ours: () => measureNode([stageProgram('merge'), config, basename(folder), output]),
        csvParse: () => measureNode([program('peers/merge-csv-parse.js'), source, folder, byCsvParse]),
        duckDb: () => measureNode([program('peers/merge-duckdb.js'), source, folder, byDuckDb]),
        publish: () => measureNode([cli, 'publish', basename(folder), '--config', config]),
      },
      () => checkSame(published, output, byCsvParse, byDuckDb),
    );
    return {
      notes: [
        `${records} records and their results, which all sides read from the same gzipped parts, two for each chunk of 10,000:`,
        'the stage itself, with its proof that every record has one result, its commits and its synced appends,',
        'beside a Map filled by csv-parse and rows written by csv-stringify, and beside a join and COPY by DuckDB on one thread,',
        'which needs ORDER BY for the source’s order. All wrote the same bytes.',
        '`foliopipe publish` does the same and then checks the source, hashes the output and puts it in place.',
      ],
      rows: [
        ...timesFasterInAll({ what: 'merging', beside: 'csv-parse', ours, peer: csvParse, atLeast: 14 }),
        ...timesFasterInAll({ what: 'merging', beside: 'DuckDB', ours, peer: duckDb, atLeast: 1 }),
        timesFaster({
          what: '`foliopipe publish`',
          beside: 'csv-parse',
          ours: publish,
          peer: csvParse,
          figure: 'wallSeconds',
        }),
      ],
    };
  },
};
