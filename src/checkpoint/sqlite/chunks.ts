/** Cutting: chunks appear one behind the other, of the source until it is cut whole, then of rounds. */
import type { UnprocessedCause } from '../../types.js';
import type { Checkpoint, CheckpointReader, ChunkState } from '../checkpoint.js';
import { CheckpointStateError } from '../checkpoint-state-error.js';
import { packNumbers, unpackNumbers } from '../packed-numbers.js';
import type { ChunkRow, NewChunk } from '../state.js';
import { UNMERGE } from './merges.js';
import { expectOne, type StateDatabase } from './state-database.js';

/** Makes `recordCut` and `recordAllCut`. */
export function cutChanges(db: StateDatabase): Pick<Checkpoint, 'recordCut' | 'recordAllCut'> {
  const insertChunk = chunkInsertion(db);
  // Touches the run's row only where the chunk may be added: the source's own leave its number of chunks null.
  const admit = db.prepare(`
    UPDATE runs SET chunks = chunks + (@round > 0)
    WHERE id = @run AND state = 'open'
      AND CASE WHEN @round = 0 THEN chunks IS NULL ELSE chunks IS NOT NULL AND @round = round + 1 END
      AND @firstRecord > coalesce((SELECT last_record FROM chunks INDEXED BY chunks_in_order
        WHERE run = @run AND round = @round AND state <> 'split' ORDER BY first_record DESC LIMIT 1), 0)`);
  const fixChunks = db.prepare(`
    UPDATE runs SET chunks = coalesce(chunks, (SELECT count(*) FROM chunks
      WHERE run = @run AND round = 0 AND state <> 'split'))
    WHERE id = @run AND state = 'open'`);

  return {
    recordCut: db.redoableChange((run: string, chunk: NewChunk) => {
      const round = chunk.picked?.round ?? 0;
      const admitted = admit.run({ run, round, firstRecord: chunk.firstRecord });
      const missing = `run ${run} is not open, or the chunk is not the next of round ${round}`;
      expectOne(admitted, 'recordCut', missing);
      return insertChunk('recordCut', run, chunk);
    }),
    recordAllCut: db.change((run: string) => {
      expectOne(fixChunks.run({ run }), 'recordAllCut', `no run ${run} that is open`);
    }),
  };
}

/** Adds a chunk's row, and the records picked for it, under the run's next number. */
export type InsertChunk = (method: string, run: string, chunk: NewChunk) => ChunkRow;

/** The statements are prepared once; the insertion belongs into a transaction. */
export function chunkInsertion(db: StateDatabase): InsertChunk {
  const nextNumber = db
    .prepare<[string], number>('SELECT coalesce(max(number), 0) + 1 FROM chunks WHERE run = ?')
    .pluck();
  const insert = db.prepare(`
    INSERT INTO chunks (run, number, round, first_record, last_record, records, start_file, start_offset,
      end_file, end_offset, bytes, sha256)
    VALUES (@run, @number, @round, @firstRecord, @lastRecord, @records, @startFile, @startOffset,
      @endFile, @endOffset, @bytes, @sha256)`);
  const insertPicked = db.prepare(
    'INSERT INTO picked_records (run, chunk, numbers) VALUES (@run, @number, @numbers)',
  );

  const chunkOf = chunkRead(db);

  return (method, run, added) => {
    const { start, end, picked, ...chunk } = added;
    if (!holdsWhatIsPicked(added)) {
      throw new CheckpointStateError(
        method,
        `a chunk of run ${run} has other records than were picked for it`,
      );
    }
    const number = nextNumber.get(run)!;
    insert.run({
      ...chunk,
      run,
      number,
      round: picked?.round ?? 0,
      startFile: start.file,
      startOffset: start.offset,
      endFile: end.file,
      endOffset: end.offset,
    });
    if (picked !== null) insertPicked.run({ run, number, numbers: packNumbers(picked.numbers) });
    return chunkOf(run, number)!;
  };
}

/** What is packed can be unpacked only where it ascends. */
function holdsWhatIsPicked({ picked, firstRecord, lastRecord, records }: NewChunk): boolean {
  if (picked === null) return true;
  const { round, numbers } = picked;
  return (
    round > 0 &&
    numbers.length === records &&
    numbers[0] === firstRecord &&
    numbers.at(-1) === lastRecord &&
    numbers.every((number, at) => at === 0 || number > numbers[at - 1]!)
  );
}

/** Chunks by number, by state and by place. */
interface StoredChunk {
  number: number;
  round: number;
  first_record: number;
  last_record: number;
  records: number;
  start_file: number;
  start_offset: number;
  end_file: number;
  end_offset: number;
  bytes: number;
  sha256: string;
  state: ChunkState;
  attempt: number;
  folio: string | null;
  submitted_at: number | null;
  successful: number | null;
  failed: number | null;
  cause: UnprocessedCause | null;
  refusal: string | null;
  merged_end: number | null;
  merged_sha256: string | null;
  merged_successful: number | null;
  merged_failed: number | null;
  merged_unprocessed: number | null;
  merged_indistinct: number | null;
}

type ChunkRead =
  | 'chunk'
  | 'chunksIn'
  | 'nextChunk'
  | 'lastCut'
  | 'lastRound'
  | 'lastMerged'
  | 'pickedRecords';

/** Prepares the look at one chunk, to be taken within a transaction. */
export function chunkRead(db: StateDatabase): (run: string, number: number) => ChunkRow | undefined {
  const byNumber = db.prepare<[string, number], StoredChunk>(
    'SELECT * FROM chunks WHERE run = ? AND number = ?',
  );
  return (run, number) => toChunkIfAny(byNumber.get(run, number));
}

/** Makes the reads of chunks. */
export function chunkReads(db: StateDatabase): Pick<CheckpointReader, ChunkRead> {
  // The planner would rather walk along the primary key, through every chunk of the run. A bare `LIMIT ?` is
  // planned by its value: SQLite would prepare the statement anew at each call.
  const inState = db.prepare<[string, ChunkState, number, number], StoredChunk>(`
    SELECT * FROM chunks INDEXED BY chunks_by_state
    WHERE run = ? AND state = ? AND number > ? ORDER BY number LIMIT ? + 0`);
  const next = db.prepare<[string, number, number], StoredChunk>(`
    SELECT * FROM chunks INDEXED BY chunks_in_order
    WHERE run = ? AND round = ? AND state <> 'split' AND first_record > ? ORDER BY first_record LIMIT 1`);
  const last = db.prepare<[string, number], StoredChunk>(`
    SELECT * FROM chunks INDEXED BY chunks_in_order
    WHERE run = ? AND round = ? AND state <> 'split' ORDER BY first_record DESC LIMIT 1`);
  const lastRound = db
    .prepare<[string], number>(
      "SELECT coalesce(max(round), 0) FROM chunks INDEXED BY chunks_in_order WHERE run = ? AND state <> 'split'",
    )
    .pluck();
  const lastMerged = db.prepare<[string, number], StoredChunk>(`
    SELECT * FROM chunks INDEXED BY chunks_merged
    WHERE run = ? AND merged_end IS NOT NULL AND first_record < ? ORDER BY first_record DESC LIMIT 1`);
  const picked = db
    .prepare<[string, number], Buffer>('SELECT numbers FROM picked_records WHERE run = ? AND chunk = ?')
    .pluck();

  return {
    chunk: db.read(chunkRead(db)),
    // One look into the index for each state: a single query over several would sort or scan the whole run.
    chunksIn: db.readTogether((run: string, states: readonly ChunkState[], after: number, limit: number) =>
      [...new Set(states)]
        .flatMap((state) => inState.all(run, state, after, limit))
        .sort((a, b) => a.number - b.number)
        .slice(0, limit)
        .map(toChunk),
    ),
    nextChunk: db.read((run: string, round: number, afterRecord: number) =>
      toChunkIfAny(next.get(run, round, afterRecord)),
    ),
    lastCut: db.read((run: string, round: number) => toChunkIfAny(last.get(run, round))),
    lastRound: db.read((run: string) => lastRound.get(run)!),
    lastMerged: db.read((run: string, beforeRecord = Number.MAX_SAFE_INTEGER) =>
      toChunkIfAny(lastMerged.get(run, beforeRecord)),
    ),
    pickedRecords: db.read((run: string, chunk: number) => {
      const numbers = picked.get(run, chunk);
      return numbers && unpackNumbers(numbers);
    }),
  };
}

function toChunkIfAny(row: StoredChunk | undefined): ChunkRow | undefined {
  return row && toChunk(row);
}

function toChunk(row: StoredChunk): ChunkRow {
  return {
    number: row.number,
    firstRecord: row.first_record,
    lastRecord: row.last_record,
    records: row.records,
    start: { file: row.start_file, offset: row.start_offset },
    end: { file: row.end_file, offset: row.end_offset },
    bytes: row.bytes,
    sha256: row.sha256,
    state: row.state,
    round: row.round,
    attempt: row.attempt,
    folio: row.folio,
    submittedAt: row.submitted_at,
    counts: row.successful === null ? null : { successful: row.successful, failed: row.failed ?? 0 },
    cause: row.cause,
    refusal: row.refusal,
    mergedEnd: row.merged_end,
    mergedSha256: row.merged_sha256,
    merged:
      row.merged_end === null
        ? null
        : {
            successful: row.merged_successful ?? 0,
            failed: row.merged_failed ?? 0,
            unprocessed: row.merged_unprocessed ?? 0,
            indistinct: row.merged_indistinct ?? 0,
          },
  };
}

// Failed records sent again: a round is settled as a whole.

/** Makes `recordRoundSettled`. */
export function roundChanges(db: StateDatabase): Pick<Checkpoint, 'recordRoundSettled'> {
  const settle = db.prepare(`
    UPDATE runs SET round = @round
    WHERE id = @run AND state = 'open' AND round = @round - 1 AND NOT EXISTS (
      SELECT 1 FROM chunks INDEXED BY chunks_in_order
      WHERE run = @run AND round = @round AND state <> 'split'
        AND state NOT IN ('downloaded', 'unprocessed', 'refused'))`);
  const unmerge = db.prepare(UNMERGE);

  return {
    recordRoundSettled: db.change((run: string, round: number) => {
      const missing = `no open run ${run} whose round ${round} is the next and all answered or given up`;
      expectOne(settle.run({ run, round }), 'recordRoundSettled', missing);
      unmerge.run({ run, fromRecord: 1 });
    }),
  };
}
