/**
 * Writes a segment. Entries go to lanes of a temporary file, one lane for each bucket; `finish` writes them as blocks.
 * Memory holds the buffers of the lanes and one block, however many entries there are.
 */
import { randomUUID } from 'node:crypto';
import { setImmediate as pause } from 'node:timers/promises';
import { COMMA } from '../csv/bytes.js';
import { HASH_INTS, HashKernel, isBlankHash } from '../csv/kernel/hash-kernel.js';
import { type AnswerSource, statusOf } from '../results/answers.js';
import { writeFileAtomically } from '../streams/atomic-file.js';
import { BUCKETS, bucketOf } from '../streams/hash-buckets.js';
import { openNameless } from '../streams/spill.js';
import type { Segment } from '../types.js';
import type { SegmentOptions, SegmentWriter } from './answer-store.js';
import { createAnswerTexts, textEnd, textStart } from './answer-texts.js';
import { AppendFile } from './append-file.js';
import { writeDirectory } from './checked-file.js';
import { LaneWriter } from './lanes.js';
import type { HashKey } from './secret.js';
import { type BlockLimits, writeBlocks } from './segment-blocks.js';
import {
  createList,
  ENTRY_INTS,
  metaOf,
  type Origin,
  SEGMENT_FORMAT,
  type SegmentDirectory,
  valueInts,
} from './segment-format.js';

interface SegmentTarget {
  /** Folder of the store, for the temporary file. */
  readonly folder: string;
  readonly path: string;
  readonly key: HashKey;
  readonly limits: BlockLimits;
}

/** Records that are added without a pause: about 10 ms of work. */
const PAUSE_RECORDS = 10_000;

const HEAD_INTS = HASH_INTS + ENTRY_INTS;

export function createSegmentWriter(
  { folder, path, key, limits }: SegmentTarget,
  options: SegmentOptions,
): SegmentWriter {
  const { keyColumn, of, ...segment } = options;
  const file = new AppendFile(openNameless(folder));
  const lanes = new LaneWriter(file, BUCKETS);
  const keyColumns = keyColumn === null ? [] : [keyColumn];
  const uploadColumns = new Set([...keyColumns, ...segment.sentColumns]);
  const texts = createAnswerTexts({ run: segment.run, columns: segment.columns, uploadColumns });
  const origins = createList<Origin>();
  const counts = { successful: 0, failed: 0 };
  const sentFields = segment.sentColumns.map((_, at) => keyColumns.length + at);
  const kernel = new HashKernel(key.bytes, sentFields, COMMA);
  /** Records since the last pause. */
  let added = 0;

  /** Index of the origin of a source; -1 for answers that this run did not get from the service. */
  const indexOf = ({ run, folio, part, answeredAt, origin }: AnswerSource): number => {
    // Without a request that was accepted there is no answer of the service.
    if (origin !== 'sent' || answeredAt === null) return -1;
    return origins.indexOf({ run: run ?? segment.run, folio, part, answeredAt });
  };
  let isWriting = true;
  /** Frees what only `add` needs. */
  const endWriting = () => {
    if (!isWriting) return;
    isWriting = false;
    lanes.release();
    texts.release();
    kernel.release();
  };
  const free = () => {
    endWriting();
    file.close();
  };

  return {
    add: async (rows, numbers, answers) => {
      if (rows.count === 0) return;
      const { source, result, sources } = answers;
      const originOf = sources.map(indexOf);
      const paidNumbers = sources.map((one) => (one.origin === 'sent' ? one.records : null));
      const hasFailed = sources.map((one) => statusOf(one) === 'FAILED');
      const hashes = kernel.hash(rows);
      texts.write(answers, rows.count, (slice, first) => {
        for (let row = 0; row < slice.count; row++) {
          const record = first + row;
          const at = record * HASH_INTS;
          const given = source[record]!;
          const origin = originOf[given]!;
          if (origin < 0 || isBlankHash(hashes, record)) continue;
          const isFailed = hasFailed[given]!;
          const from = textStart(slice, row, isFailed);
          const to = textEnd(slice, row, isFailed);
          const records = paidNumbers[given]!;
          const number = records === null ? numbers[record]! : records[result[record]!]!;
          const meta = metaOf(to - from, isFailed);
          const entry = lanes.begin(bucketOf(hashes[at]!), HEAD_INTS + valueInts(meta));
          const { ints } = lanes;
          for (let i = 0; i < HASH_INTS; i++) ints[entry + i] = hashes[at + i]!;
          ints[entry + HASH_INTS] = number;
          ints[entry + HASH_INTS + 1] = origin;
          ints[entry + HASH_INTS + 2] = meta;
          lanes.writeBytes(entry + HEAD_INTS, slice.bytes, from, to);
          if (isFailed) counts.failed += 1;
          else counts.successful += 1;
        }
      });
      added += rows.count;
      if (added < PAUSE_RECORDS) return;
      added = 0;
      // Lets signals and timers of the caller run.
      await pause();
    },
    finish: async () => {
      if (file.isClosed) throw new Error(`the segment ${segment.id} is closed`);
      lanes.end();
      // Before the blocks are made, which takes memory too.
      endWriting();
      const row = { ...segment, ...(of && { of }), ...counts, ...spanOf(origins.list) };
      const written = await writeSegmentFile(row, path, key, origins.list, (target) =>
        writeBlocks(file.fd, lanes.lanes, target, limits),
      );
      free();
      return written;
    },
    close: async () => free(),
  };
}

/**
 * Writes the file of a segment, which appears whole.
 * @param row the segment's row, without the size and hash of the file.
 * @param writeContent writes all that comes before the directory.
 */
export async function writeSegmentFile(
  row: Omit<Segment, 'bytes' | 'sha256'>,
  path: string,
  { fingerprint }: HashKey,
  origins: readonly Origin[],
  writeContent: (target: AppendFile) => Promise<Pick<SegmentDirectory, 'dictionary' | 'blocks'>>,
): Promise<Segment> {
  // Two pipelines that begin at once may make the segment of the same earlier run: each writes a file of its own.
  const own = `${path}-${randomUUID()}`;
  const write = async (fd: number) => {
    const target = new AppendFile(fd);
    const content = await writeContent(target);
    const directory: SegmentDirectory = { ...row, fingerprint, origins, ...content };
    return writeDirectory(target, SEGMENT_FORMAT, directory);
  };
  return { ...row, ...(await writeFileAtomically(own, 0o600, write, () => path)) };
}

/** When the oldest and the newest of the answers were paid for. */
export function spanOf(origins: readonly Origin[]): Pick<Segment, 'oldest' | 'newest'> {
  let oldest = Number.POSITIVE_INFINITY;
  let newest = 0;
  for (const { answeredAt } of origins) {
    oldest = Math.min(oldest, answeredAt);
    newest = Math.max(newest, answeredAt);
  }
  return { oldest: Math.min(oldest, newest), newest };
}
