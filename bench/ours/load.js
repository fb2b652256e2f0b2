/** Loads an output into a database: node load.js URL FILE TABLE MODE PUBLICATION */
import { copyFileSync, createReadStream, readFileSync } from 'node:fs';
import { DatabaseAddress } from '../../dist/src/config/sections/load-section.js';
import { createLoadTarget } from '../../dist/src/load/configured-load.js';
import { timed } from '../timed.js';

const [url, file, table, mode, publication] = process.argv.slice(2);

// The build puts the child process of DuckDB only beside the bundle.
copyFileSync(
  new URL('../../src/duckdb/duckdb-child.js', import.meta.url),
  new URL('../../dist/src/duckdb/duckdb-child.js', import.meta.url),
);

const { columns, output } = JSON.parse(readFileSync(`${file}.manifest.json`, 'utf8'));
const KEY = 'Account';
const added = columns.findIndex((name) => name.endsWith('_status'));
const roleOf = (name, at) =>
  name === KEY && mode === 'merge'
    ? 'key'
    : at < added
      ? 'source'
      : at === added
        ? 'status'
        : at <= added + 2
          ? 'reason'
          : 'answer';

await timed(async () => {
  const target = createLoadTarget({
    address: new DatabaseAddress(url),
    connectMs: 10_000,
    tempFolder: `${file}.temp`,
  });
  const { written } = await target.load(
    {
      pipeline: 'bench',
      table,
      mode,
      onSchema: 'add',
      onRemoved: 'keep',
      columns: columns.map((name, at) => ({ name, role: roleOf(name, at) })),
      run: `run-${publication}`,
      publication: Number(publication),
      file: {
        bytes: output.bytes,
        sha256: output.sha256,
        records: output.records,
        open: () => createReadStream(file, { highWaterMark: 256 * 1024 }),
      },
      delta: null,
    },
    { signal: new AbortController().signal, at: () => undefined },
  );
  return { written };
});
