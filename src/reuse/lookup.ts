/**
 * Looks up the records of a source in the segments: a Grace hash join. The records' hashes go to lanes of a temporary
 * file, one lane for each bucket; then bucket by bucket the segments are read past the records of the bucket.
 */
import { setImmediate as pause } from 'node:timers/promises';
import { HASH_INTS, HashKernel } from '../csv/kernel/hash-kernel.js';
import type { Batch } from '../csv/table.js';
import { writeFileAtomically } from '../streams/atomic-file.js';
import type { Choice } from '../types.js';
import type { AnswerLookup, LookupOptions, ReuseTerms } from './answer-store.js';
import { AppendFile, openNameless, Scratch } from './append-file.js';
import { ASKED_INTS, BucketJoin } from './bucket-join.js';
import { LIST_NUMBERS, NumberSet, numbersIn } from './choice-format.js';
import { ChoiceWriter } from './choice-writer.js';
import { createDecision } from './decision.js';
import { LaneWriter, readLane, temporaryDamaged } from './lanes.js';
import type { HashKey } from './secret.js';
import { BUCKETS, bucketOf } from './segment-format.js';
import type { BlockBuffers, SegmentReader } from './segment-reader.js';

export interface LookupPlace {
  /** Folder of the store, for the temporary file. */
  readonly folder: string;
  /** Path for the file of a run's choice, in a folder that is there. */
  readonly newChoicePath: (run: string) => Promise<string>;
  readonly key: HashKey;
  readonly laneBits: number;
}

/**
 * @param readers the segments in the order in which they decide; closed with the look-up.
 * @param buffers which they share; released with the look-up.
 */
export function createLookup(
  { folder, newChoicePath, key, laneBits }: LookupPlace,
  { fields, delimiter, duplicates, skipsBlank, withheld = new Set() }: LookupOptions,
  readers: readonly SegmentReader[],
  buffers: BlockBuffers,
): AnswerLookup {
  const file = openNameless(folder);
  const lanes = new LaneWriter(file, BUCKETS);
  const kernel = new HashKernel(key.bytes, fields, delimiter);
  /** Records that are blank in all sent fields and are sent. */
  const blank = new NumberSet();
  let blanks = 0;
  let largest = 0;

  const decideAll = async (terms: ReuseTerms, writer: ChoiceWriter | undefined) => {
    const join = new BucketJoin();
    const sent = blank.copy();
    const sendsDoubles = duplicates === 'send';
    const decision = createDecision({ terms, withheld, sendsDoubles, join, sent, writer });
    const scratch = new Scratch();
    for (const [bucket, lane] of lanes.lanes.entries()) {
      join.load(readLane(file.fd, lane, scratch, temporaryDamaged));
      for (const reader of readers) {
        const behind = reader.firstBlock(bucket + 1);
        for (let block = reader.firstBlock(bucket); block < behind && join.unmatched > 0; block++) {
          const count = reader.count(block);
          const matches = join.match(reader.hashes(block), count);
          if (matches > 0) decision.take(reader, reader.entries(block), count, matches);
        }
      }
      decision.endBucket();
      // Signals and timers of the caller go on.
      await pause();
    }
    const { equal, ...found } = decision.result(readers);
    const { maxAge, failedAge, epoch } = terms;
    return { sent, equal, facts: { ...found, sent: found.sent + blanks, maxAge, failedAge, epoch } };
  };

  return {
    add: async (batch: Batch) => {
      const hashes = kernel.hash(batch);
      const { numbers, count } = batch;
      for (let record = 0, at = 0; record < count; record++, at += HASH_INTS) {
        const first = hashes[at]!;
        const second = hashes[at + 1]!;
        const third = hashes[at + 2]!;
        const fourth = hashes[at + 3]!;
        if ((first | second | third | fourth) === 0) {
          if (skipsBlank) continue;
          blank.add(numbers[record]!);
          blanks += 1;
          continue;
        }
        const to = lanes.begin(bucketOf(first), ASKED_INTS);
        const { ints } = lanes;
        ints[to] = first;
        ints[to + 1] = second;
        ints[to + 2] = third;
        ints[to + 3] = fourth;
        ints[to + 4] = numbers[record]!;
      }
      largest = Math.max(largest, numbers[count - 1]!);
    },
    plan: async (terms) => {
      lanes.end();
      const { sent, equal, facts } = await decideAll(terms, undefined);
      const toSend = async function* (after: number) {
        for (let first = 0; first <= largest; first += LIST_NUMBERS) {
          yield* numbersIn(sent.bits(first, LIST_NUMBERS), first, after);
        }
      };
      return { choice: { ...facts, bytes: 0, sha256: '' }, toSend, equal };
    },
    decide: async (terms, run): Promise<Choice> => {
      lanes.end();
      return writeFileAtomically(await newChoicePath(run), 0o600, async (fd) => {
        const writer = new ChoiceWriter(new AppendFile(fd), largest + 1, laneBits);
        try {
          const { sent, facts } = await decideAll(terms, writer);
          return { ...facts, ...writer.end(run, sent) };
        } finally {
          writer.release();
        }
      });
    },
    close: async () => {
      if (file.fd < 0) return;
      file.close();
      kernel.release();
      lanes.release();
      buffers.codec.release();
      for (const reader of readers) reader.close();
    },
  };
}
