/**
 * Writes `<output>.rejects.csv`, the rejected records. They are read from the source again before "publishing" is
 * committed, because the source may change after that. The file is put in place together with the output.
 */
import { stringify } from 'csv-stringify/sync';
import type { BadRecord } from '../../csv/bad-record.js';
import { ByteWriter } from '../../csv/byte-writer.js';
import { COMMA, QUOTE } from '../../csv/bytes.js';
import { writeValue } from '../../csv/write-field.js';
import { writeLocalFile } from '../../files/work-file.js';
import type { RunContext } from '../../run-context.js';
import { inspectFile } from '../../source/inspect-file.js';
import { readRecords } from '../../source/read-records.js';
import { type HashedFile, hashFile } from '../../streams/file-identity.js';
import { drain } from '../../streams/run-stages.js';
import { maxRecordBytes } from '../chunk/cut-chunks.js';
import { firstPosition } from '../read-source.js';
import { waitingBeside } from './beside-output.js';

/**
 * Writes the file to the local disk; `putBeside` puts it in place later.
 * @returns what it holds; undefined without rejected records: then there is no file.
 */
export async function writeRejects(
  run: Pick<RunContext, 'id' | 'source' | 'config' | 'signal'>,
): Promise<HashedFile | undefined> {
  if (run.source.rejected === 0) return undefined;
  const waiting = waitingBeside(run, 'rejects');
  await writeLocalFile(waiting, (append) => writeRows(run, append));
  return hashFile(waiting);
}

const FLUSH_BYTES = 1024 * 1024;

async function writeRows(
  run: Pick<RunContext, 'source' | 'config' | 'signal'>,
  append: (piece: Uint8Array) => void,
): Promise<void> {
  const { files } = run.source;
  const firstLines: number[] = [];
  for (const { path } of files) firstLines.push((await inspectFile(path, run.config.source)).firstLine);
  const out = new ByteWriter(64 * 1024);
  const flush = () => {
    append(out.view());
    out.clear();
  };
  out.utf8(stringify([['file', 'record', 'line', 'byte', 'code', 'reason', 'raw']]));
  const records = readRecords(run.source, firstPosition(run.source), {
    maxRecordBytes: maxRecordBytes(run.config.upload, run.config.chunks.maxBytes),
    signal: run.signal,
    firstLines,
    onBadRecord: (bad) => {
      writeReject(out, files[bad.file]!.path, bad);
      if (out.length > FLUSH_BYTES) flush();
    },
  });
  await drain(records);
  flush();
}

/** Writes the raw bytes of the record as one quoted field: unchanged, except that quotes are doubled. */
function writeReject(
  out: ByteWriter,
  path: string,
  { record, line, byte, code, message, raw }: BadRecord,
): void {
  writeValue(out, path);
  for (const number of [record, line, byte]) {
    out.byte(COMMA);
    out.number(number);
  }
  out.ascii(`,${code},`);
  writeValue(out, message);
  out.ascii(',"');
  let from = 0;
  for (let at = raw.indexOf(QUOTE); at >= 0; at = raw.indexOf(QUOTE, from)) {
    out.copy(raw, from, at + 1);
    out.byte(QUOTE);
    from = at + 1;
  }
  out.copy(raw, from, raw.length);
  out.ascii('"\n');
}
