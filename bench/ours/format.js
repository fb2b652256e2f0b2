/** Makes the file of another format from an output, as a publication does: node format.js FILE FORMAT */
import { readFileSync, renameSync } from 'node:fs';
import { writeParquet } from '../../dist/src/duckdb/write-parquet.js';
import { compressFile, encodedPathOf, encodeFile } from '../../dist/src/files/encoded-file.js';
import { timed } from '../timed.js';

const [file, format] = process.argv.slice(2);
const { columns, output } = JSON.parse(readFileSync(`${file}.manifest.json`, 'utf8'));
const { signal } = new AbortController();

await timed(async () => {
  let childRssMB = 0;
  const watch = setInterval(() => {
    childRssMB = Math.max(childRssMB, peakOfChildren());
  }, 20);
  await encodeFile(file, (path, into) =>
    format === 'parquet'
      ? writeParquet({
          csv: file,
          parquet: path,
          columns,
          types: {},
          records: output.records,
          tempFolder: `${path}.tmp`,
          signal,
        })
      : compressFile(file, into, format, signal),
  );
  clearInterval(watch);
  renameSync(encodedPathOf(file), `${file}.${format}`);
  return { childRssMB };
});

/** The highest memory that a child of this process has had until now; on Linux only. */
function peakOfChildren() {
  try {
    const children = readFileSync(`/proc/self/task/${process.pid}/children`, 'utf8').trim().split(' ');
    const peaks = children.map(
      (pid) => /VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1],
    );
    return Math.max(...peaks.map((kB) => Number(kB ?? 0) / 1024));
  } catch {
    return 0;
  }
}
