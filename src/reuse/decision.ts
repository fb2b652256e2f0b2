/** Decides what becomes of records: which take an old answer, which are sent, which take the answer of an equal one. */
import type { Choice } from '../types.js';
import type { PlannedChoice, ReuseTerms } from './answer-store.js';
import type { BucketJoin, JoinLimits } from './bucket-join.js';
import type { NumberSet } from './choice-format.js';
import type { ChoiceWriter } from './choice-writer.js';
import type { SegmentReader } from './segment-reader.js';

interface DecisionOptions {
  readonly terms: ReuseTerms;
  /** The ids of segments of which no FAILED answer is taken. */
  readonly withheld: ReadonlySet<string>;
  /** Whether equal records are all sent. */
  readonly sendsDoubles: boolean;
  /** Holds the records of the bucket. */
  readonly join: BucketJoin;
  /** Receives the records to send. */
  readonly sent: NumberSet;
  /** Receives the answers and the pairs; undefined: they are only counted. */
  readonly writer: ChoiceWriter | undefined;
}

interface Decision {
  /** Takes the last matches of the join. @param count the number of entries in their block. */
  take(reader: SegmentReader, count: number, matches: number): void;
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

export function createDecision(options: DecisionOptions): Decision {
  const { terms, withheld, sendsDoubles, join, sent, writer } = options;
  const { now, maxAge, epoch } = terms;
  const counts = { sent: 0, successful: 0, failed: 0, duplicates: 0, outdated: 0, equal: 0 };
  /** The segments from which answers were taken; and, for successful answers, for how many records. */
  const used = { all: new Set<SegmentReader>(), successful: new Map<SegmentReader, number>() };
  const known = new Map<SegmentReader, JoinLimits>();

  const limitsOf = (reader: SegmentReader): JoinLimits => {
    const limits = known.get(reader);
    if (limits !== undefined) return limits;
    const { ages, indexes } = join.origins(reader.origins.length);
    const isOfEpoch = reader.segment.epoch === epoch;
    for (const [origin, { answeredAt }] of reader.origins.entries()) {
      // If the clock was ahead, the age is 0, not less: so a limit of 0 still takes no answer.
      ages[origin] = isOfEpoch ? Math.max(0, now - answeredAt) : Number.POSITIVE_INFINITY;
    }
    const failedAge = withheld.has(reader.segment.id) ? 0 : terms.failedAge;
    const made = { ages, indexes, maxAge, failedAge };
    known.set(reader, made);
    return made;
  };

  return {
    take: (reader, count, matches) => {
      const found = join.take(
        matches,
        count,
        limitsOf(reader),
        sendsDoubles,
        (origin) => writer!.addOrigin(reader.origins[origin]!, reader.segment),
        (answer) => writer!.answer(answer),
      );
      const { successful, failed, outdated } = found;
      counts.successful += successful;
      counts.failed += failed;
      counts.outdated += outdated;
      if (successful > 0) used.successful.set(reader, (used.successful.get(reader) ?? 0) + successful);
      if (successful + failed > 0) used.all.add(reader);
    },
    endBucket: () => {
      const { firsts, count } = join;
      for (let record = 0; record < count; record++) {
        const first = firsts[record]!;
        if (join.isReused(first)) continue;
        const number = join.numberOf(record);
        if (first === record || sendsDoubles) {
          sent.add(number);
          counts.sent += 1;
          if (first !== record) counts.equal += 1;
        } else {
          writer?.double(join.numberOf(first), number);
          counts.duplicates += 1;
        }
      }
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
