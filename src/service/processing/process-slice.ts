/** Predicts records of a batch and writes their results as bytes: the hot loop of the service, which never waits. */
import type { ByteWriter } from '../../csv/byte-writer.js';
import { COMMA, LF } from '../../csv/bytes.js';
import { type Batch, fieldEnd, fieldStart, fieldValue } from '../../csv/table.js';
import { writeValue } from '../../csv/write-field.js';
import { seededRandom } from '../faults/seeded-random.js';
import { type Failure, isPrediction, type Prediction, type Predictor } from '../predictors/predictor.js';
import type { Folio } from '../store/folio.js';
import type { UploadLayout } from '../uploads/read-upload.js';

/** Reads the clock once for this many records. */
const CLOCK_RECORDS = 16;
const FORCED_FAILURE: Failure = { reason: 'made to fail by a fault rule' };

interface SliceLimits {
  /** The most records to process. */
  readonly records: number;
  /** The most successful records: the room left in the part that is being filled. */
  readonly successful: number;
  /** `performance.now()` at which to stop, so that the event loop is not blocked. */
  readonly until: number;
}

interface SliceCounts {
  readonly successful: number;
  readonly failed: number;
}

/** The tools that turn a folio's records into results. */
export interface SliceTools {
  readonly predictor: Predictor;
  readonly layout: UploadLayout;
  /** See `forcedFailures`. */
  readonly mustFail: ((record: number) => boolean) | undefined;
  readonly successful: ByteWriter;
  readonly failed: ByteWriter;
}

/** Processes the batch's records from index `from` (0-based) on, until a limit is reached. */
export function processSlice(
  batch: Batch,
  from: number,
  limits: SliceLimits,
  tools: SliceTools,
): SliceCounts {
  const to = Math.min(batch.count, from + limits.records);
  let successful = 0;
  let record = from;
  for (; record < to && successful < limits.successful; record++) {
    const done = record - from;
    if (done > 0 && done % CLOCK_RECORDS === 0 && performance.now() >= limits.until) break;
    const outcome = predictRecord(batch, record, tools);
    if (isPrediction(outcome)) {
      successful++;
      writeSuccessful(tools.successful, batch, record, outcome);
    } else {
      writeFailed(tools.failed, batch, record, outcome);
    }
  }
  return { successful, failed: record - from - successful };
}

function predictRecord(batch: Batch, record: number, tools: SliceTools): Prediction | Failure {
  const { predictor, layout, mustFail } = tools;
  if (mustFail?.(batch.numbers[record]!)) return FORCED_FAILURE;
  if (predictor.predictRaw !== undefined) {
    return predictor.predictRaw(
      batch.bytes,
      fieldStart(batch, record, layout.name),
      fieldEnd(batch, record, layout.name),
    );
  }
  return predictor.predict(
    textOf(batch, record, layout.name),
    textOf(batch, record, layout.address),
    textOf(batch, record, layout.state),
  );
}

function textOf(batch: Batch, record: number, field: number): string {
  return field < 0 ? '' : fieldValue(batch, record, field);
}

function writeSuccessful(out: ByteWriter, batch: Batch, record: number, prediction: Prediction): void {
  writeRecord(out, batch, record);
  out.ascii(prediction.code);
  out.byte(COMMA);
  writeValue(out, prediction.title);
  out.byte(COMMA);
  out.ascii(prediction.confidence.toFixed(2));
  out.byte(LF);
}

function writeFailed(out: ByteWriter, batch: Batch, record: number, failure: Failure): void {
  writeRecord(out, batch, record);
  writeValue(out, failure.reason);
  out.byte(LF);
}

/** The record's bytes unchanged, and a comma. */
function writeRecord(out: ByteWriter, batch: Batch, record: number): void {
  out.copy(batch.bytes, batch.starts[record]!, fieldEnd(batch, record, batch.fields - 1));
  out.byte(COMMA);
}

/**
 * Chooses the records that the fault `fail` makes fail, only by seed, folio and record, so that a folio has the same
 * failures after a restart.
 * @returns whether a record (1-based in the upload) must fail; undefined when none must.
 */
export function forcedFailures(
  folio: Pick<Folio, 'id' | 'failShare' | 'failSeed'>,
): ((record: number) => boolean) | undefined {
  const { id, failShare, failSeed } = folio;
  if (failShare === 0) return undefined;
  return (record) => seededRandom(failSeed, 'fail', id, record) < failShare;
}
