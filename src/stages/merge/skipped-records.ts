/**
 * Blank records that were not sent (`upload.skipBlank`): takes them out of a block of the source, whose other records
 * are joined with results, and puts their answers back.
 */
import {
  type Answers,
  createAnswerBuilder,
  type NumberedAnswers,
  skippedAnswers,
} from '../../results/answers.js';
import type { RecordBlock, SourceBlock } from '../../source/record-block.js';

/** The blank records of a block, and their answers. */
export function skippedRecords({ blank, numbers }: SourceBlock): NumberedAnswers {
  return { numbers: Int32Array.from(blank, (row) => numbers[row]!), answers: skippedAnswers(blank.length) };
}

/** The other records of a block. Shares the bytes, as a new object: `TableMemory` recognizes a table by this object. */
export function sentRecords(block: SourceBlock): RecordBlock {
  const { bytes, fields, starts, ends, numbers, blank } = block;
  const skipped = new Set(blank);
  const rows = Array.from({ length: block.count }, (_, row) => row).filter((row) => !skipped.has(row));
  const count = rows.length;
  const kept = {
    starts: new Int32Array(count),
    ends: new Int32Array(count * fields),
    numbers: new Int32Array(count),
  };
  for (const [at, row] of rows.entries()) {
    kept.starts[at] = starts[row]!;
    kept.numbers[at] = numbers[row]!;
    kept.ends.set(ends.subarray(row * fields, (row + 1) * fields), at * fields);
  }
  return { bytes: bytes.subarray(), count, fields, ...kept };
}

/**
 * The answers of all records of a block.
 * @param sent the other records, and their answers.
 */
export function withSkipped(block: SourceBlock, sent: NumberedAnswers): Answers {
  const builder = createAnswerBuilder(block.numbers);
  builder.add(sent);
  builder.add(skippedRecords(block));
  return builder.answers();
}
