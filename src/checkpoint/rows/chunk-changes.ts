/**
 * Changes of single chunks: new ones, with the numbers that the checkpoint gives; a refused chunk is split in two or given
 * up; parts that were fetched once more replace the stored ones; a chunk is given up, with its cause.
 */
import type { Checkpoint } from '../checkpoint.js';
import { CheckpointStateError } from '../checkpoint-errors.js';
import { packNumbers, unpackNumbers } from '../packed-numbers.js';
import type { ChunkRow, NewChunk } from '../state.js';
import { ask, askForRow, type Change, type MakeChange } from './change.js';
import { PICKED_RECORDS, type StoredChunk, toChunk, UNMERGE } from './chunk-rows.js';

const ADD_CHUNK = `
  INSERT INTO chunks (run, number, round, first_record, last_record, records, start_file, start_offset,
    end_file, end_offset, bytes, sha256, cut_at)
  VALUES (@run, coalesce((SELECT max(number) FROM chunks WHERE run = @run), 0) + 1, @round, @firstRecord, @lastRecord,
    @records, @startFile, @startOffset, @endFile, @endOffset, @bytes, @sha256, @at)
  RETURNING *`;
const ADD_PICKED = 'INSERT INTO picked_records (run, chunk, numbers) VALUES (@run, @number, @numbers)';
const SPLIT = `
  UPDATE chunks SET state = 'split'
  WHERE run = @run AND number = @chunk AND state IN ('cut', 'ambiguous') AND records > 1
    AND EXISTS (SELECT 1 FROM runs WHERE id = @run AND state = 'open')
  RETURNING round, first_record AS first, last_record AS last, records`;
const COUNT_ONE_MORE = 'UPDATE runs SET chunks = chunks + 1 WHERE id = @run';
const REFUSE = `
  UPDATE chunks SET state = 'refused', refusal = @refusal, successful = 0, failed = 1
  WHERE run = @run AND number = @chunk AND state IN ('cut', 'ambiguous') AND records = 1 RETURNING *`;
const REFETCH = `
  UPDATE chunks SET state = 'downloaded', successful = @successful, failed = @failed
  WHERE run = @run AND number = @chunk AND state IN ('finished', 'downloaded') RETURNING *`;
export const FORGET_PARTS = 'DELETE FROM parts WHERE run = @run AND chunk = @chunk';
/** Returns nothing if the part is there. */
export const ADD_PART = `
  INSERT INTO parts (run, chunk, file_status, part, bytes, sha256, records)
  VALUES (@run, @chunk, @fileStatus, @part, @bytes, @sha256, @records) ON CONFLICT DO NOTHING RETURNING part`;
const GIVE_UP = `
  UPDATE chunks SET state = 'unprocessed', cause = @cause
  WHERE run = @run AND number = @chunk
    AND (round > 0 OR NOT EXISTS (SELECT 1 FROM stretches AS merged
      WHERE merged.run = @run AND merged.first_record <= chunks.last_record
        AND merged.last_record >= chunks.first_record))
    AND state IN ('cut', 'ambiguous', 'submitted', 'finished', 'downloaded')
  RETURNING *`;

type ChunkChange = 'recordSplit' | 'recordRefused' | 'recordRefetched' | 'recordUnprocessed';

/** Makes the changes of chunks that exist. */
export function chunkChanges(make: MakeChange): Pick<Checkpoint, ChunkChange> {
  return {
    recordSplit: make(function* (run, chunk, halves) {
      const missing = `no chunk ${chunk} of run ${run} that is cut or ambiguous and has the records of these two`;
      const parent = yield* askForRow<Parent>(SPLIT, { run, chunk }, 'recordSplit', missing);
      const [packed] = yield* ask<{ numbers: Buffer }>(PICKED_RECORDS, { run, chunk });
      if (!areHalves(parent, packed?.numbers, halves)) throw new CheckpointStateError('recordSplit', missing);
      const first = yield* addChunk('recordSplit', run, halves[0]);
      const second = yield* addChunk('recordSplit', run, halves[1]);
      yield* ask(COUNT_ONE_MORE, { run });
      return [first, second] as const;
    }),
    recordRefused: make(function* (run, chunk, refusal) {
      const missing = `no chunk ${chunk} of run ${run} of a single record that is cut or ambiguous`;
      const values = { run, chunk, refusal };
      return toChunk(yield* askForRow<StoredChunk>(REFUSE, values, 'recordRefused', missing));
    }),
    recordRefetched: make(function* (run, chunk, { successful, failed }, parts) {
      const missing = `no chunk ${chunk} of run ${run} that is finished or downloaded`;
      const values = { run, chunk, successful, failed };
      const row = yield* askForRow<StoredChunk>(REFETCH, values, 'recordRefetched', missing);
      yield* ask(FORGET_PARTS, { run, chunk });
      for (const { fileStatus, part, bytes, sha256, records } of parts) {
        const doubled = `${fileStatus} part ${part} of chunk ${chunk} of run ${run} is listed twice`;
        const stored = { run, chunk, fileStatus, part, bytes, sha256, records };
        yield* askForRow(ADD_PART, stored, 'recordRefetched', doubled);
      }
      if (row.round === 0) yield* ask(UNMERGE, { run, fromRecord: row.first_record });
      return toChunk(row);
    }),
    recordUnprocessed: make(function* (run, chunk, cause) {
      const missing = `no chunk ${chunk} of run ${run} that can be given up`;
      const values = { run, chunk, cause };
      return toChunk(yield* askForRow<StoredChunk>(GIVE_UP, values, 'recordUnprocessed', missing));
    }),
  };
}

/** Adds the row of a chunk, and its picked records, with the run's next number. */
export function* addChunk(method: string, run: string, added: NewChunk, at?: number): Change<ChunkRow> {
  const values = valuesOfChunk(method, run, added, at);
  const row = yield* askForRow<StoredChunk>(ADD_CHUNK, values, method, `no run ${run}`);
  const { numbers } = values;
  if (numbers !== null) yield* ask(ADD_PICKED, { run, number: row.number, numbers });
  return toChunk(row);
}

/**
 * The values of a new chunk's row, without its number; `numbers` holds its picked records.
 * @param method the method of the port that adds it, for the error.
 * @param at epoch milliseconds; undefined if the time is not kept.
 * @throws CheckpointStateError when the picked records are not those of the chunk.
 */
export function valuesOfChunk(method: string, run: string, added: NewChunk, at?: number) {
  if (!containsPicked(added)) {
    throw new CheckpointStateError(method, `a new chunk of run ${run} has other records than picked`);
  }
  const { start, end, picked, ...chunk } = added;
  return {
    ...chunk,
    run,
    round: picked?.round ?? 0,
    startFile: start.file,
    startOffset: start.offset,
    endFile: end.file,
    endOffset: end.offset,
    at: at ?? null,
    numbers: picked === null ? null : packNumbers(picked.numbers),
  };
}

/** Whether the picked numbers match the chunk. They must ascend, because otherwise they could not be unpacked. */
function containsPicked({ picked, firstRecord, lastRecord, records }: NewChunk): boolean {
  if (picked === null) return true;
  const { round, numbers } = picked;
  return (
    round >= 0 &&
    numbers.length === records &&
    numbers[0] === firstRecord &&
    numbers.at(-1) === lastRecord &&
    numbers.every((number, at) => at === 0 || number > numbers[at - 1]!)
  );
}

/** The chunk that is split. */
interface Parent {
  readonly round: number;
  readonly first: number;
  readonly last: number;
  readonly records: number;
}

/**
 * Whether two chunks together hold exactly the records of the one that is split.
 * @param packed the records that were picked for it, if they were.
 */
function areHalves(
  parent: Parent,
  packed: Buffer | undefined,
  [first, second]: readonly [NewChunk, NewChunk],
): boolean {
  return (
    first.firstRecord === parent.first &&
    first.lastRecord < second.firstRecord &&
    second.lastRecord === parent.last &&
    first.records > 0 &&
    second.records > 0 &&
    first.records + second.records === parent.records &&
    (first.picked?.round ?? 0) === parent.round &&
    (second.picked?.round ?? 0) === parent.round &&
    (packed === undefined || haveItsRecords(packed, [first, second]))
  );
}

/** Whether the records picked for the chunk are exactly those of its halves. */
function haveItsRecords(packed: Buffer, [first, second]: readonly [NewChunk, NewChunk]): boolean {
  const both = [...(first.picked?.numbers ?? []), ...(second.picked?.numbers ?? [])];
  const numbers = unpackNumbers(packed);
  return both.length === numbers.length && both.every((number, at) => number === numbers[at]);
}
