/**
 * Looks up the records of a source in the segments: a Grace hash join. The records' hashes go to lanes of a temporary
 * file, one lane for each bucket; then, bucket by bucket, the segments are compared with the records of the bucket.
 */
import { setImmediate as pause } from 'node:timers/promises';
import { HashKernel, isBlankHash } from '../csv/kernel/hash-kernel.js';
import type { Batch } from '../csv/table.js';
import { writeFileAtomically } from '../streams/atomic-file.js';
import { BUCKETS, HashBuckets } from '../streams/hash-buckets.js';
import { openNameless } from '../streams/spill.js';
import type { Choice } from '../types.js';
import type { AnswerLookup, LookupOptions, ReuseTerms } from './answer-store.js';
import { AppendFile } from './append-file.js';
import { ASKED_INTS, BucketJoin, type JoinSizes } from './bucket-join.js';
import { LIST_NUMBERS, NumberSet, numbersIn } from './choice-format.js';
import { ChoiceWriter, choiceLanes } from './choice-writer.js';
import { createDecision } from './decision.js';
import {
  appendExtent,
  type Lane,
  type LaneShape,
  laneSize,
  noExtents,
  readLane,
  temporaryDamaged,
} from './lanes.js';
import type { HashKey } from './secret.js';
import type { BlockBuffers, SegmentReader } from './segment-reader.js';

interface LookupPlace {
  /** Folder of the store, for the temporary file. */
  readonly folder: string;
  /** Path for the file of a run's choice, in an existing folder. */
  readonly newChoicePath: (run: string) => Promise<string>;
  readonly key: HashKey;
  readonly laneBits: number;
}

/**
 * @param readers the segments in the order in which they decide; closed with the look-up.
 * @param buffers which the readers share; released with the look-up.
 */
export function createLookup(
  { folder, newChoicePath, key, laneBits }: LookupPlace,
  { fields, delimiter, duplicates, skipsBlank, withheld = new Set() }: LookupOptions,
  readers: readonly SegmentReader[],
  buffers: BlockBuffers,
): AnswerLookup {
  const file = new AppendFile(openNameless(folder));
  const lanes = noExtents(BUCKETS);
  const asked = new HashBuckets(ASKED_INTS, (bucket, entries) => appendExtent(file, lanes[bucket]!, entries));
  const kernel = new HashKernel(key.bytes, fields, delimiter);
  /** Records that are blank in all sent fields and are sent. */
  const blank = new NumberSet();
  let blanks = 0;
  let largest = 0;
  let isEnded = false;

  /** Writes what is left of the records that were added. */
  const endRecords = () => {
    if (!isEnded) asked.end();
    isEnded = true;
  };

  const decideAll = async (terms: ReuseTerms, join: BucketJoin, writer: ChoiceWriter | undefined) => {
    const sent = blank.copy();
    const sendsDoubles = duplicates === 'send';
    const decision = createDecision({ terms, withheld, sendsDoubles, join, sent, writer });
    for (const [bucket, lane] of lanes.entries()) {
      join.load(readLane(file.fd, lane, join.asked, temporaryDamaged).length / ASKED_INTS);
      for (const reader of readers) {
        const mayTake = reader.segment.epoch === terms.epoch;
        const behind = reader.firstBlock(bucket + 1);
        for (let block = reader.firstBlock(bucket); block < behind && join.isWanted(mayTake); block++) {
          const count = reader.count(block);
          reader.hashes(block, join.hashes);
          const matches = join.match(count, mayTake);
          if (matches === 0) continue;
          reader.entries(block, join.entries);
          decision.take(reader, count, matches);
        }
      }
      decision.endBucket();
      // Lets signals and timers of the caller run.
      await pause();
    }
    const { equal, ...found } = decision.result(readers);
    const { maxAge, failedAge, epoch } = terms;
    return { sent, equal, facts: { ...found, sent: found.sent + blanks, maxAge, failedAge, epoch } };
  };

  return {
    add: async (batch: Batch) => {
      const hashes = kernel.hash(batch);
      const numbers = batch.numbers.subarray(0, batch.count);
      asked.addHashes(hashes, numbers);
      if (!skipsBlank) {
        for (let record = 0; record < numbers.length; record++) {
          if (!isBlankHash(hashes, record)) continue;
          blank.add(numbers[record]!);
          blanks += 1;
        }
      }
      largest = Math.max(largest, numbers.at(-1)!);
    },
    plan: async (terms) => {
      endRecords();
      const join = new BucketJoin(sizesOf(lanes, readers, undefined));
      const { sent, equal, facts } = await decideAll(terms, join, undefined).finally(() => join.release());
      const toSend = async function* (after: number) {
        for (let first = 0; first <= largest; first += LIST_NUMBERS) {
          yield* numbersIn(sent.bits(first, LIST_NUMBERS), first, after);
        }
      };
      return { choice: { ...facts, bytes: 0, sha256: '' }, toSend, equal };
    },
    decide: async (terms, run): Promise<Choice> => {
      endRecords();
      return writeFileAtomically(await newChoicePath(run), 0o600, async (fd) => {
        const shape = choiceLanes(largest + 1, laneBits);
        const join = new BucketJoin(sizesOf(lanes, readers, shape));
        const writer = new ChoiceWriter(new AppendFile(fd), shape, join.lists!);
        try {
          const { sent, facts } = await decideAll(terms, join, writer);
          return { ...facts, ...writer.end(run, sent) };
        } finally {
          writer.release();
          join.release();
        }
      });
    },
    close: async () => {
      if (file.isClosed) return;
      file.close();
      kernel.release();
      buffers.codec.release();
      for (const reader of readers) reader.close();
    },
  };
}

/** The room that the join of these records with these segments takes. */
function sizesOf(
  lanes: readonly Lane[],
  readers: readonly SegmentReader[],
  shape: LaneShape | undefined,
): JoinSizes {
  const most = (numbers: readonly number[]) => numbers.reduce((one, other) => Math.max(one, other), 0);
  return {
    records: most(lanes.map(laneSize)) / ASKED_INTS,
    entries: most(readers.map(({ blocks }) => most(blocks.count))),
    ints: most(readers.map(({ blocks }) => most(blocks.size))),
    // Each segment begins at a multiple of eight bytes.
    origins: readers.reduce((sum, { origins }) => sum + origins.length + 1, 0),
    lanes: shape,
  };
}
