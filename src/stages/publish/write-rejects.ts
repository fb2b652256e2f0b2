/**
 * `<output>.rejects.csv`: the records that were rejected, by reading the source once more. It is written before
 * "publishing" is committed, since the source may change after, and put in place together with the output.
 */
import { writeFileSync } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { stringify } from 'csv-stringify/sync';
import { ByteWriter } from '../../csv/byte-writer.js';
import type { BadRecord } from '../../csv/scan-records.js';
import { rejectsPath } from '../../report/paths.js';
import type { RunContext } from '../../run-context.js';
import { inspectFile } from '../../source/inspect-file.js';
import { readRecords } from '../../source/read-records.js';
import { writeFileAtomically } from '../../streams/atomic-file.js';
import { drain } from '../../streams/run-stages.js';
import { maxRecordBytes } from '../chunk/cut-chunks.js';
import { firstPlace } from '../read-source.js';

/** Writes the file beside its place; without a rejected record there is none. */
export async function writeRejects(
  run: Pick<RunContext, 'id' | 'source' | 'config' | 'signal'>,
): Promise<void> {
  if (run.source.rejected === 0) return;
  const { files } = run.source;
  const inspected = await Promise.all(files.map(({ path }) => inspectFile(path, run.config.source)));
  await writeFileAtomically(waitingPath(run), run.config.output.mode, async (file) => {
    const out = new ByteWriter(64 * 1024);
    const flush = () => {
      writeFileSync(file, out.view());
      out.clear();
    };
    out.utf8(stringify([['file', 'record', 'line', 'byte', 'code', 'reason', 'raw']]));
    const records = readRecords(run.source, firstPlace(run.source), {
      maxRecordBytes: maxRecordBytes(run.config.upload, run.config.chunks.maxBytes),
      signal: run.signal,
      firstLines: inspected.map(({ firstLine }) => firstLine),
      onBadRecord: (bad) => {
        writeReject(out, files[bad.file]!.path, bad);
        if (out.length > flushBytes) flush();
      },
    });
    await drain(records);
    flush();
  });
}

/** Puts the written file in place, or takes an old one away where nothing was rejected. */
export async function renameRejects(run: Pick<RunContext, 'id' | 'source' | 'config'>): Promise<void> {
  const path = rejectsPath(run.config.output.path);
  if (run.source.rejected === 0) {
    await rm(path, { force: true });
    return;
  }
  // Gone already where a killed process came this far.
  await rename(waitingPath(run), path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
  });
}

const flushBytes = 1024 * 1024;

function waitingPath(run: Pick<RunContext, 'id' | 'config'>): string {
  return `${rejectsPath(run.config.output.path)}.${run.id}.partial`;
}

/** The raw bytes stand in a quoted field, as they are in the source but for doubled quotes. */
function writeReject(out: ByteWriter, path: string, bad: BadRecord): void {
  const known = stringify([[path, bad.record, bad.line, bad.byte, bad.code, bad.message]]);
  out.utf8(`${known.trimEnd()},"`);
  for (const byte of bad.raw) {
    out.byte(byte);
    if (byte === quote) out.byte(byte);
  }
  out.utf8('"\n');
}

const quote = 0x22;
