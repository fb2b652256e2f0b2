/** Source to chunk files: the key and three of seven columns. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { alternate } from '../alternate.js';
import { beginRun, onlyRun } from '../begin-run.js';
import { program } from '../lab.js';
import { measureNode } from '../measure.js';
import { timesFasterInAll } from '../rows.js';
import { checkSame } from '../same-files.js';
import { stageProgram } from '../stage-programs.js';

export const chunking = {
  title: 'Chunking',
  async run(lab) {
    const records = lab.recordsOr(2_000_000);
    const source = await lab.source(records);
    const whole = lab.path('chunks-duckdb.csv');
    let work;
    let folder;
    const { ours, csvParse, duckDb } = await alternate(
      lab.pairs,
      {
        ours: async () => {
          work = lab.emptyFolder('chunks-ours');
          return measureNode([stageProgram('chunk'), await beginRun(work, source)]);
        },
        csvParse: () => {
          folder = lab.emptyFolder('chunks-csv-parse');
          return measureNode([program('peers/chunk-csv-parse.js'), source, folder]);
        },
        duckDb: () => measureNode([program('peers/chunk-duckdb.js'), source, whole]),
      },
      async () => {
        const cut = chunkFiles(onlyRun(work));
        await checkSame(cut, chunkFiles(folder));
        // DuckDB's one file has one header.
        const headerBytes = readFileSync(cut[0]).indexOf('\n') + 1;
        const rest = cut.slice(1).map((path, at) => {
          const body = lab.path(`body-${at}`);
          writeFileSync(body, readFileSync(path).subarray(headerBytes));
          return body;
        });
        await checkSame([cut[0], ...rest], whole);
      },
    );
    return {
      notes: [
        `${records} records to files of 10,000: the stage itself, with a commit for each of them,`,
        'beside csv-parse into csv-stringify, and beside DuckDB on one thread, which writes one file.',
        'All three wrote the same bytes.',
      ],
      rows: [
        ...timesFasterInAll({ what: 'chunking', beside: 'csv-parse', ours, peer: csvParse, atLeast: 12 }),
        ...timesFasterInAll({ what: 'chunking', beside: 'DuckDB', ours, peer: duckDb, atLeast: 1 }),
      ],
    };
  },
};

function chunkFiles(folder) {
  const names = readdirSync(folder).filter((name) => name.startsWith('chunk-'));
  return names.sort().map((name) => `${folder}/${name}`);
}
