/** Writes `<output>.rejects.csv` where records were rejected, by reading the source once more; else removes it. */
import { rm } from 'node:fs/promises';
import { stringify } from 'csv-stringify/sync';
import { ByteWriter } from '../csv/byte-writer.js';
import { readRecords } from '../csv/read-records.js';
import type { BadRecord } from '../csv/scan-records.js';
import { rejectsPath } from '../report/paths.js';
import type { RunContext } from '../run-context.js';
import { writeFileAtomically } from '../streams/atomic-file.js';
import { maxRecordBytes } from './cut-chunks.js';
import { firstPlace } from './read-source.js';

export async function writeRejects(run: Pick<RunContext, 'source' | 'config' | 'signal'>): Promise<void> {
  const path = rejectsPath(run.config.output.path);
  if (run.source.rejected === 0) {
    await rm(path, { force: true });
    return;
  }
  await writeFileAtomically(path, run.config.output.mode, async (file) => {
    const out = new ByteWriter(64 * 1024);
    out.utf8(stringify([['file', 'record', 'line', 'byte', 'code', 'reason', 'raw']]));
    const records = readRecords(run.source, firstPlace(run.source), {
      maxRecordBytes: maxRecordBytes(run.config.upload, run.config.chunks.maxBytes),
      signal: run.signal,
      onBadRecord: (bad) => writeReject(out, run.source.files[bad.file]!.path, bad),
    });
    for await (const _ of records) {
      if (out.length > 1024 * 1024) await file.writeFile(out.take());
    }
    await file.writeFile(out.take());
  });
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
