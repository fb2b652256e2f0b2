/** What the service will not have: a chunk is cut in two, and a record that stands alone is given up as failed. */
import type { Checkpoint } from '../checkpoint.js';
import { CheckpointStateError } from '../checkpoint-state-error.js';
import { unpackNumbers } from '../packed-numbers.js';
import type { NewChunk } from '../state.js';
import { chunkInsertion, chunkRead } from './chunks.js';
import { expectOne, type StateDatabase } from './state-database.js';

interface Parent {
  readonly round: number;
  readonly first: number;
  readonly last: number;
  readonly records: number;
}

/** Makes `recordSplit` and `recordRefused`. */
export function refusalChanges(db: StateDatabase): Pick<Checkpoint, 'recordSplit' | 'recordRefused'> {
  const insertChunk = chunkInsertion(db);
  const chunkOf = chunkRead(db);
  const split = db.prepare<[object], Parent>(`
    UPDATE chunks SET state = 'split'
    WHERE run = @run AND number = @chunk AND state IN ('cut', 'ambiguous') AND records > 1
      AND EXISTS (SELECT 1 FROM runs WHERE id = @run AND state = 'open')
    RETURNING round, first_record AS first, last_record AS last, records`);
  const picked = db
    .prepare<[string, number], Buffer>('SELECT numbers FROM picked_records WHERE run = ? AND chunk = ?')
    .pluck();
  const countOneMore = db.prepare('UPDATE runs SET chunks = chunks + 1 WHERE id = @run');
  const refuse = db.prepare(`
    UPDATE chunks SET state = 'refused', refusal = @refusal, successful = 0, failed = 1
    WHERE run = @run AND number = @chunk AND state IN ('cut', 'ambiguous') AND records = 1`);

  return {
    recordSplit: db.change((run: string, chunk: number, halves: readonly [NewChunk, NewChunk]) => {
      const parent = split.get({ run, chunk });
      const packed = picked.get(run, chunk);
      if (
        parent === undefined ||
        !isHalved(parent, halves) ||
        !(packed === undefined || isShared(packed, halves))
      ) {
        const missing = `no chunk ${chunk} of run ${run} that is cut or ambiguous and made up of these two`;
        throw new CheckpointStateError('recordSplit', missing);
      }
      const [first, second] = halves;
      const rows = [insertChunk('recordSplit', run, first), insertChunk('recordSplit', run, second)] as const;
      countOneMore.run({ run });
      return rows;
    }),
    recordRefused: db.change((run: string, chunk: number, refusal: string) => {
      const missing = `no chunk ${chunk} of run ${run} of a single record that is cut or ambiguous`;
      expectOne(refuse.run({ run, chunk, refusal }), 'recordRefused', missing);
      return chunkOf(run, chunk)!;
    }),
  };
}

function isHalved(parent: Parent, [first, second]: readonly [NewChunk, NewChunk]): boolean {
  return (
    first.firstRecord === parent.first &&
    first.lastRecord < second.firstRecord &&
    second.lastRecord === parent.last &&
    first.records > 0 &&
    second.records > 0 &&
    first.records + second.records === parent.records &&
    (first.picked?.round ?? 0) === parent.round &&
    (second.picked?.round ?? 0) === parent.round
  );
}

/** Whether the records picked for a chunk are those of its halves, each in one of them. */
function isShared(packed: Buffer, [first, second]: readonly [NewChunk, NewChunk]): boolean {
  const both = [...(first.picked?.numbers ?? []), ...(second.picked?.numbers ?? [])];
  const numbers = unpackNumbers(packed);
  return both.length === numbers.length && both.every((number, at) => number === numbers[at]);
}
