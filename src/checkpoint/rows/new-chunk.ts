/** What new chunks must hold, whatever database they are added to. */
import { unpackNumbers } from '../packed-numbers.js';
import type { NewChunk } from '../state.js';

/** The chunk that is split. */
export interface Parent {
  readonly round: number;
  readonly first: number;
  readonly last: number;
  readonly records: number;
}

/** Whether two chunks together hold the records of the one that is split. */
export function areHalves(parent: Parent, [first, second]: readonly [NewChunk, NewChunk]): boolean {
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

/** Whether the records picked for the chunk are exactly those of its halves. */
export function haveItsRecords(packed: Buffer, [first, second]: readonly [NewChunk, NewChunk]): boolean {
  const both = [...(first.picked?.numbers ?? []), ...(second.picked?.numbers ?? [])];
  const numbers = unpackNumbers(packed);
  return both.length === numbers.length && both.every((number, at) => number === numbers[at]);
}

/** Whether the picked numbers match the chunk. They must ascend, because otherwise they could not be unpacked. */
export function containsPicked({ picked, firstRecord, lastRecord, records }: NewChunk): boolean {
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
