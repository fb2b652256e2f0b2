/** The hot loop: predicts records of a batch and writes their results as bytes. Nothing here waits. */
import type { Batch } from '../../csv/batch.js';
import type { ByteWriter } from '../../csv/byte-writer.js';
import { fieldText, writeValue } from '../../csv/write-field.js';
import { MADE_TO_FAIL } from '../faults/decide-faults.js';
import { type Failure, isPrediction, type Prediction, type Predictor } from '../predictors/predictor.js';
import type { UploadLayout } from '../uploads/read-upload.js';

const COMMA = 0x2c;
const LF = 0x0a;
/** The clock is read once in so many records. */
const CLOCK_RECORDS = 16;

export interface SliceLimits {
  /** Records at most. */
  readonly records: number;
  /** Successful records at most: what the part that is being filled has room for. */
  readonly successful: number;
  /** `performance.now()` at which to stop, so that the event loop is not held up. */
  readonly until: number;
}

export interface SliceCounts {
  readonly successful: number;
  readonly failed: number;
}

/** What turns records into results, for one folio. */
export interface SliceTools {
  readonly predictor: Predictor;
  readonly layout: UploadLayout;
  /** Says of a record (1-based in the upload) whether it fails whatever the predictor says. */
  readonly isMadeToFail: ((record: number) => boolean) | undefined;
  readonly successful: ByteWriter;
  readonly failed: ByteWriter;
}

/** Processes the batch's records from number `from` (0-based) on, until a limit is met. */
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
  const { predictor, layout, isMadeToFail } = tools;
  if (isMadeToFail?.(batch.firstRecord + record)) return MADE_TO_FAIL;
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
  if (field < 0) return '';
  return fieldText(batch.bytes, fieldStart(batch, record, field), fieldEnd(batch, record, field));
}

function fieldStart(batch: Batch, record: number, field: number): number {
  return field === 0 ? batch.starts[record]! : batch.ends[record * batch.fields + field - 1]! + 1;
}

function fieldEnd(batch: Batch, record: number, field: number): number {
  return batch.ends[record * batch.fields + field]!;
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

/** The record's bytes as they came, and the comma behind them. */
function writeRecord(out: ByteWriter, batch: Batch, record: number): void {
  out.copy(batch.bytes, batch.starts[record]!, fieldEnd(batch, record, batch.fields - 1));
  out.byte(COMMA);
}
