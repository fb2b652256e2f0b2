/**
 * Carries answers from records to their doubles, which come later in the source: an answer is kept when its record is
 * merged, and taken when the double is. Memory holds one buffer for each lane of doubles.
 */
import { type Answers, type FixedSource, type NumberedAnswers, statusOf } from '../results/answers.js';
import { takeNumbers } from '../streams/large-buffers.js';
import { openNameless } from '../streams/spill.js';
import type { CarriedAnswers, CarryOptions } from './answer-store.js';
import { answersOfLane } from './answer-tables.js';
import { createAnswerTexts, textEnd, textStart } from './answer-texts.js';
import { AppendFile, Scratch } from './append-file.js';
import { ANSWER_INTS, type ChoiceOrigin, PAIR_INTS } from './choice-format.js';
import { LaneWriter, readLane, temporaryDamaged } from './lanes.js';
import { createList, metaOf, valueInts } from './segment-format.js';

/** Records of a lane: 65,536. */
const LANE_BITS = 16;

/** @param folder for the temporary file. */
export function openCarriedAnswers(folder: string, options: CarryOptions): CarriedAnswers {
  const { run, records, columns, uploadColumns, lineage } = options;
  const file = new AppendFile(openNameless(folder));
  const lanes = Math.ceil((records + 1) / 2 ** LANE_BITS);
  const answered = new LaneWriter(file, lanes);
  const fixed = new LaneWriter(file, lanes);
  const texts = createAnswerTexts({ run, columns, uploadColumns });
  const origins = createList<ChoiceOrigin>();
  const fixedSources = createList<FixedSource>();
  const scratch = new Scratch();
  const directory = { origins: origins.list, layouts: [columns], laneBits: LANE_BITS };

  const keepFixed = (source: FixedSource, double: number) => {
    const at = fixed.begin(double >>> LANE_BITS, PAIR_INTS);
    fixed.ints[at] = double;
    fixed.ints[at + 1] = fixedSources.indexOf(source);
  };

  return {
    keep: ({ numbers, answers }, doubles) => {
      const { sources, source, result } = answers;
      const originOf = sources.map((one) => {
        if (one.origin === 'fixed') return -1;
        const { run: paidBy, folio, part, answeredAt } = one;
        return origins.indexOf({ run: paidBy ?? run, folio, part, answeredAt: answeredAt ?? 0, layout: 0 });
      });
      const hasFailed = sources.map((one) => statusOf(one) === 'FAILED');
      texts.write(answers, doubles.length, (slice, first) => {
        for (let row = 0; row < slice.count; row++) {
          const at = first + row;
          const given = source[at]!;
          const one = sources[given]!;
          if (one.origin === 'fixed') {
            keepFixed(one, doubles[at]!);
            continue;
          }
          const isFailed = hasFailed[given]!;
          const from = textStart(slice, row, isFailed);
          const to = textEnd(slice, row, isFailed);
          const meta = metaOf(to - from, isFailed);
          const words = valueInts(meta);
          const entry = answered.begin(doubles[at]! >>> LANE_BITS, ANSWER_INTS + words);
          const { ints } = answered;
          ints[entry] = doubles[at]!;
          ints[entry + 1] = originOf[given]!;
          ints[entry + 2] = one.records === null ? numbers[at]! : one.records[result[at]!]!;
          ints[entry + 3] = meta;
          answered.writeBytes(entry + ANSWER_INTS, slice.bytes, from, to);
        }
      });
    },
    upTo: function* (from, last) {
      for (let lane = from >>> LANE_BITS; lane <= last >>> LANE_BITS; lane++) {
        answered.flush(lane);
        fixed.flush(lane);
        const first = lane * 2 ** LANE_BITS;
        const entries = readLane(file.fd, answered.lanes[lane]!, { ints: takeNumbers }, temporaryDamaged);
        const found = answersOfLane(entries, first, from, directory, lineage);
        if (found.numbers.length > 0) yield found;
        const given = readLane(file.fd, fixed.lanes[lane]!, scratch, temporaryDamaged);
        if (given.length > 0) yield fixedAnswers(given, fixedSources.list);
      }
    },
    close: () => {
      if (file.isClosed) return;
      file.close();
      answered.release();
      fixed.release();
      texts.release();
    },
  };
}

/** @param entries pairs of the double's number and the index of its source. */
function fixedAnswers(entries: Int32Array, sources: readonly FixedSource[]): NumberedAnswers {
  const sourceOf = new Map<number, number>();
  for (let at = 0; at < entries.length; at += PAIR_INTS) sourceOf.set(entries[at]!, entries[at + 1]!);
  const numbers = Int32Array.from(sourceOf.keys()).sort();
  const source = numbers.map((number) => sourceOf.get(number)!);
  const answers: Answers = { sources, source, result: new Int32Array(numbers.length), indistinct: new Set() };
  return { numbers, answers };
}
