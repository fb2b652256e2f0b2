/**
 * Writes the metrics of a run's end where node_exporter's textfile collector reads them: the file is replaced as a whole,
 * and its temporary name does not end in `.prom`. node_exporter runs as another user, so all may read the file: it holds
 * counts and sums.
 */
import { writeFileSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import type { CheckpointReader } from '../checkpoint/checkpoint.js';
import { METRICS, refuseForeignReport } from '../files/report-place.js';
import { writeFileAtomically } from '../streams/atomic-file.js';
import type { RunEnd } from './run-end.js';
import { metricsText } from './run-metrics.js';

const MODE = 0o644;

/**
 * @param reader null where the state cannot be read.
 * @throws ConfigError `REPORT_PLACE_TAKEN` if the path holds anything but such metrics; the system's error when the file
 *   cannot be written. Its folder is not created: node_exporter must find it.
 */
export async function writeTextfile(
  path: string,
  end: RunEnd,
  reader: Pick<CheckpointReader, 'runs'> | null,
): Promise<void> {
  await refuseForeignReport(METRICS, path);
  const text = await metricsText(end, await lastSuccess(path, end, reader));
  const work = `${path}.${end.run ?? end.pipeline}.partial`;
  await writeFileAtomically(
    work,
    MODE,
    (file) => writeFileSync(file, text),
    () => path,
  );
}

/**
 * When a run of the pipeline last ended well: now, or at the latest time in the file and the state. The state does not
 * record that a source was found unchanged, and the file may be missing. Neither a rehearsal nor a sample is a success.
 */
async function lastSuccess(
  path: string,
  { outcome, summary, times, pipeline }: RunEnd,
  reader: Pick<CheckpointReader, 'runs'> | null,
): Promise<number | null> {
  if (outcome === 'success' && summary?.rehearsal !== true) return Date.parse(times.ended);
  const runs = (await reader?.runs(pipeline)) ?? [];
  const ends = runs.flatMap(({ rehearsal, publication, finishedAt, source }) =>
    rehearsal || source.limit !== undefined || publication?.exitCode !== 0 || finishedAt === null
      ? []
      : [finishedAt],
  );
  const known = [await writtenSuccess(path, pipeline), ...ends].filter((time) => time !== null);
  return known.length === 0 ? null : known.reduce((latest, time) => Math.max(latest, time));
}

/** No file that foliopipe writes here is larger. */
const MAX_BYTES = 64 * 1024;

/** The time in the existing file, if that is of this pipeline. */
async function writtenSuccess(path: string, pipeline: string): Promise<number | null> {
  try {
    if ((await stat(path)).size > MAX_BYTES) return null;
    const line = /^foliopipe_last_success_timestamp_seconds\{pipeline="([^"]*)"\} ([\d.e+]+)$/m;
    const [, name, seconds] = line.exec(await readFile(path, 'utf8')) ?? [];
    return name === pipeline ? Number(seconds) * 1000 : null;
  } catch {
    return null;
  }
}
