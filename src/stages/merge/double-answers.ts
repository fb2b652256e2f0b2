/**
 * Gives doubles the answers of their firsts (`upload.duplicates: once`). The first of equal records is sent and comes
 * earlier in the source. If a double is in a later stretch, the answer is kept on the disk until then.
 */
import type { AnswerBuilder, NumberedAnswers } from '../../results/answers.js';
import type { CarriedAnswers, ChosenAnswers, DoublePairs } from '../../reuse/answer-store.js';
import { giveBackLane } from '../../reuse/answer-tables.js';
import type { RunContext } from '../../run-context.js';
import { uploadedColumns } from './join-chunk.js';

/** The most answers that are kept at once: one record may have any number of doubles. */
const MAX_KEPT = 4_096;

export interface DoubleAnswers {
  /** Adds the answers of doubles in a stretch, and keeps the answers of its records for later doubles. */
  addTo(builder: AnswerBuilder, numbers: Int32Array): Promise<void>;
  /** Frees the answers that the last stretch was given. */
  release(): void;
  close(): Promise<void>;
}

/**
 * Stretches must be given from the first record on, because the double of an early record may be anywhere.
 * @param columns the columns that the service adds.
 */
export async function openDoubleAnswers(
  run: Pick<RunContext, 'id' | 'config' | 'source' | 'answers'> & { readonly chosen: ChosenAnswers },
  columns: readonly string[],
): Promise<DoubleAnswers> {
  const carried: CarriedAnswers = await run.answers.openCarried({
    run: run.id,
    records: run.source.records,
    columns,
    uploadColumns: uploadedColumns(run.config.upload),
    lineage: run.config.output.lineage,
  });
  const byDouble = pairsOf(run.chosen.byDouble(1), 'doubles');
  const byFirst = pairsOf(run.chosen.byFirst(1), 'firsts');
  /** The pieces that the last stretch was given. */
  const given: NumberedAnswers[] = [];

  return {
    addTo: async (builder, numbers) => {
      const [from, last] = [numbers[0]!, numbers.at(-1)!];
      const near: Pair[] = [];
      const farFirsts = new Map<number, number>();
      for (const pair of await byDouble.upTo(last)) {
        if (pair.first >= from) near.push(pair);
        else farFirsts.set(pair.double, pair.first);
      }
      if (farFirsts.size > 0) {
        for (const piece of carried.upTo(from, last)) {
          builder.addDoubles(piece, farFirsts);
          given.push(piece);
        }
      }
      if (near.length > 0) {
        const { answers } = builder.pick(near.map(({ first }) => first));
        const piece = { numbers: Int32Array.from(near, ({ double }) => double), answers };
        builder.addDoubles(piece, new Map(near.map(({ first, double }) => [double, first])));
      }
      for (;;) {
        const pairs = await byFirst.upTo(last, MAX_KEPT);
        const later = pairs.filter(({ double }) => double > last);
        if (later.length > 0) {
          carried.keep(
            builder.pick(later.map(({ first }) => first)),
            Int32Array.from(later, ({ double }) => double),
          );
        }
        if (pairs.length < MAX_KEPT) return;
      }
    },
    release: () => {
      for (const piece of given.splice(0)) giveBackLane(piece);
    },
    close: async () => {
      carried.close();
      await byDouble.close();
      await byFirst.close();
    },
  };
}

interface Pair {
  readonly first: number;
  readonly double: number;
}

/** Walks over pairs, which ascend by one of their numbers. */
function pairsOf(lists: AsyncGenerator<DoublePairs>, sortedBy: keyof DoublePairs) {
  let list: DoublePairs | undefined;
  let next = 0;
  return {
    /** The next pairs up to this number, at most `limit` of them. */
    upTo: async (record: number, limit = Number.POSITIVE_INFINITY): Promise<Pair[]> => {
      const pairs: Pair[] = [];
      for (;;) {
        if (list === undefined || next === list[sortedBy].length) {
          list = (await lists.next()).value ?? undefined;
          next = 0;
          if (list === undefined) return pairs;
        }
        for (; next < list[sortedBy].length; next++) {
          if (list[sortedBy][next]! > record || pairs.length === limit) return pairs;
          pairs.push({ first: list.firsts[next]!, double: list.doubles[next]! });
        }
      }
    },
    close: async () => {
      await lists.return(undefined);
    },
  };
}
