/** Decides what becomes of records: which take an old answer, which are sent, which take the answer of an equal one. */
import { HASH_INTS } from '../csv/kernel/hash-kernel.js';
import type { Choice } from '../types.js';
import type { PlannedChoice, ReuseTerms } from './answer-store.js';
import { ASKED_INTS, type BucketJoin } from './bucket-join.js';
import type { NumberSet } from './choice-format.js';
import type { ChoiceWriter } from './choice-writer.js';
import { ENTRY_INTS, isFailure, valueInts } from './segment-format.js';
import type { SegmentReader } from './segment-reader.js';

export interface DecisionOptions {
  readonly terms: ReuseTerms;
  /** The ids of segments of which no FAILED answer is taken. */
  readonly withheld: ReadonlySet<string>;
  /** Whether equal records are all sent. */
  readonly sendsDoubles: boolean;
  /** Holds the records of the bucket. */
  readonly join: BucketJoin;
  /** Gets the records to send. */
  readonly sent: NumberSet;
  /** Gets the answers and the pairs; undefined: they are counted only. */
  readonly writer: ChoiceWriter | undefined;
}

export interface Decision {
  /** Takes the last matches of the join. @param entries the entries of their block, which are `count`. */
  take(reader: SegmentReader, entries: Int32Array, count: number, matches: number): void;
  /** Decides for the records of the bucket that take no old answer. */
  endBucket(): void;
  /** What was decided. @param readers all segments, in the order in which they decide. */
  result(readers: readonly SegmentReader[]): Pick<Choice, Decided> & Pick<PlannedChoice, 'equal'>;
}

type Decided =
  | 'segments'
  | 'sent'
  | 'reused'
  | 'duplicates'
  | 'outdated'
  | 'columns'
  | 'columnSets'
  | 'rehearsal';

/** Most of the time by which the hash shortens the age up to which an answer is taken. */
const SPREAD = 1 / 5;
const UNUSED = -1;

/** The origins of a segment as numbers: when they answered, and their indexes in the choice. */
interface SegmentOrigins {
  readonly answeredAt: Float64Array;
  readonly indexes: Int32Array;
}

export function createDecision(options: DecisionOptions): Decision {
  const { terms, withheld, sendsDoubles, join, sent, writer } = options;
  const { now, maxAge, epoch } = terms;
  const counts = { sent: 0, successful: 0, failed: 0, duplicates: 0, outdated: 0, equal: 0 };
  /** The segments from which answers were taken, and for how many records successful ones. */
  const used = { all: new Set<SegmentReader>(), successful: new Map<SegmentReader, number>() };
  const origins = new Map<SegmentReader, SegmentOrigins>();
  /** For the first of equal records: whether they take an old answer. */
  let reused = new Uint8Array(0);

  const originsOf = (reader: SegmentReader): SegmentOrigins => {
    const known = origins.get(reader);
    if (known !== undefined) return known;
    const answeredAt = Float64Array.from(reader.origins, (origin) => origin.answeredAt);
    const made = { answeredAt, indexes: new Int32Array(answeredAt.length).fill(UNUSED) };
    origins.set(reader, made);
    return made;
  };

  return {
    take: (reader, entries, count, matches) => {
      const { asked, heads, nexts, numbers, spreads, hasDoubles, entries: matched } = join;
      const { answeredAt, indexes } = originsOf(reader);
      const isOfEpoch = reader.segment.epoch === epoch;
      const failedAge = withheld.has(reader.segment.id) ? 0 : terms.failedAge;
      if (reused.length < join.count) reused = grown(reused, join.count);
      const before = counts.successful;
      const failedBefore = counts.failed;
      let entry = 0;
      let paid = 0;
      let value = ENTRY_INTS * count;
      for (let match = 0; match < matches; match++) {
        for (const wanted = matched[match]!; entry < wanted; entry++) {
          paid = (paid + entries[entry]!) | 0;
          value += valueInts(entries[2 * count + entry]!);
        }
        const number = (paid + entries[entry]!) | 0;
        const origin = entries[count + entry]!;
        const meta = entries[2 * count + entry]!;
        const head = heads[match]!;
        const hasFailed = isFailure(meta);
        const fraction = (spreads[match]! >>> 0) / 2 ** 32;
        const limit = hasFailed ? failedAge : maxAge * (1 - SPREAD * fraction);
        const isTaken = isOfEpoch && now - answeredAt[origin]! < limit;
        if (writer !== undefined && indexes[origin] === UNUSED) {
          indexes[origin] = writer.addOrigin(reader.origins[origin]!, reader.segment);
        }
        // Equal records that are sent once keep the old answer once.
        const isChained = hasDoubles && (isTaken || sendsDoubles);
        let records = 0;
        let asking = numbers[match]!;
        for (let record = head; record >= 0; ) {
          records += 1;
          if (writer !== undefined) {
            const list = isTaken ? writer.reused : writer.outdated;
            writer.answer(list, asking, indexes[origin]!, number, meta, entries, value);
          }
          record = isChained ? nexts[record]! : -1;
          if (record >= 0) asking = asked[record * ASKED_INTS + HASH_INTS]!;
        }
        if (!isTaken) counts.outdated += records;
        else if (hasFailed) counts.failed += records;
        else counts.successful += records;
        if (isTaken) reused[head] = 1;
      }
      const successes = counts.successful - before;
      if (successes > 0) used.successful.set(reader, (used.successful.get(reader) ?? 0) + successes);
      if (counts.successful > before || counts.failed > failedBefore) used.all.add(reader);
    },
    endBucket: () => {
      const { asked, firsts, count } = join;
      if (reused.length < count) reused = grown(reused, count);
      for (let record = 0; record < count; record++) {
        const first = firsts[record]!;
        if (reused[first] === 1) continue;
        const number = asked[record * ASKED_INTS + HASH_INTS]!;
        if (first === record || sendsDoubles) {
          sent.add(number);
          counts.sent += 1;
          if (first !== record) counts.equal += 1;
        } else {
          writer?.double(asked[first * ASKED_INTS + HASH_INTS]!, number);
          counts.duplicates += 1;
        }
      }
      reused.fill(0, 0, count);
    },
    result: (readers) => {
      const giving = readers.filter((reader) => used.all.has(reader)).map(({ segment }) => segment);
      const successful = readers.filter((reader) => used.successful.has(reader));
      return {
        segments: giving.map(({ id }) => id),
        sent: counts.sent,
        reused: { successful: counts.successful, failed: counts.failed },
        duplicates: counts.duplicates,
        outdated: counts.outdated,
        equal: counts.equal,
        columns: [...new Set(successful.flatMap(({ segment }) => segment.columns))],
        columnSets: columnSetsOf(
          successful.map((reader) => [reader.segment.columns, used.successful.get(reader)!]),
        ),
        rehearsal: giving.some(({ rehearsal }) => rehearsal),
      };
    },
  };
}

/** Adds up the records of segments with the same columns. */
function columnSetsOf(taken: readonly (readonly [readonly string[], number])[]): Choice['columnSets'] {
  const sets = new Map<string, { readonly columns: readonly string[]; records: number }>();
  for (const [columns, records] of taken) {
    const key = JSON.stringify(columns.toSorted());
    const set = sets.get(key);
    if (set === undefined) sets.set(key, { columns, records });
    else set.records += records;
  }
  return [...sets.values()];
}

function grown(array: Uint8Array<ArrayBuffer>, size: number): Uint8Array<ArrayBuffer> {
  const larger = new Uint8Array(Math.ceil(size * 1.25));
  larger.set(array);
  return larger;
}
