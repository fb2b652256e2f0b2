/** How stages read a source that was checked before: from where a run stands, and only while it is the same. */
import type { Batch } from '../csv/batch.js';
import { fileStamp } from '../csv/file-stamp.js';
import { readRecords } from '../csv/read-records.js';
import { SourceError } from '../errors/index.js';
import type { RunContext } from '../run-context.js';
import type { Position, Source } from '../types.js';
import { maxRecordBytes } from './cut-chunks.js';

/** A place in the source and the number of the record that comes next. */
export interface Place {
  readonly position: Position;
  readonly record: number;
}

/** Before the first record. */
export function firstPlace(source: Source): Place {
  return { position: { file: 0, offset: source.files[0]!.dataStart }, record: 1 };
}

/** Records from a place on; bad ones are passed over where the check allowed them. */
export function recordsFrom(
  run: Pick<RunContext, 'source' | 'config' | 'signal'>,
  place: Place,
): AsyncGenerator<Batch> {
  return readRecords(run.source, place, {
    maxRecordBytes: maxRecordBytes(run.config.upload, run.config.chunks.maxBytes),
    signal: run.signal,
    onBadRecord: (bad) => {
      if (run.config.source.onBadRecord === 'reject') return;
      throw sourceChanged(run.source.files[bad.file]!.path, bad.message);
    },
  });
}

/**
 * Looks whether the files between two places are still those that were checked, by size, times and inode.
 * @throws SourceError when one of them changed.
 */
export async function checkSourceStamp(source: Source, from: Position, to: Position): Promise<void> {
  for (const file of source.files.slice(from.file, to.file + 1)) {
    const { stamp } = await fileStamp(file.path);
    if (stamp !== file.stamp) throw sourceChanged(file.path, 'its size or time is not what it was');
  }
}

export function sourceChanged(path: string, how: string): SourceError {
  return new SourceError('SOURCE_CHANGED', `${path} changed while the run was working on it: ${how}`, {
    hint: 'put the file back as it was and run again, or begin afresh with: foliopipe run --new',
    facts: { file: path },
  });
}
