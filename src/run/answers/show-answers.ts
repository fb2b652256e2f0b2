/** Reports on the stored answers: which of them a run of a config would take, and until when. */
import type { CheckpointReader } from '../../checkpoint/checkpoint.js';
import type { Config } from '../../config/schema.js';
import type { AnswerStore } from '../../reuse/answer-store.js';
import type { Bytes, Segment } from '../../types.js';
import { isOfService } from '../configured-service.js';
import { isUsable } from '../open/choose-records.js';

/**
 * Why the answers of a segment are not taken. `service`, `columns`: of another service or of other sent columns; `epoch`:
 * of another `reuse.epoch`, so that they are only compared with; `expired`: all are too old; `empty`: forgotten; `lost`:
 * their file is missing or has another length, and a run makes it again or is refused.
 */
type Unused = 'service' | 'columns' | 'epoch' | 'expired' | 'empty' | 'lost';

/** The answers that one run, or one import, has stored. */
export interface ShownSegment
  extends Pick<
    Segment,
    | 'id'
    | 'run'
    | 'service'
    | 'rehearsal'
    | 'sentColumns'
    | 'columns'
    | 'epoch'
    | 'successful'
    | 'failed'
    | 'bytes'
    | 'oldest'
    | 'newest'
  > {
  readonly from: 'run' | 'import';
  /** Null: a run of the config takes its answers. */
  readonly unused: Unused | null;
  /** When the last SUCCESSFUL and the last FAILED answer become too old; epoch milliseconds, null if there is none. */
  readonly expires: { readonly successful: number | null; readonly failed: number | null };
}

/** Sums of stored answers. */
export interface AnswerTotals {
  readonly segments: number;
  readonly successful: number;
  readonly failed: number;
  readonly bytes: Bytes;
  /** Null if there are no answers. */
  readonly bytesPerRecord: number | null;
}

/** The stored answers of a state, of all services. */
export interface ShownAnswers {
  /** Newest answers first. */
  readonly segments: readonly ShownSegment[];
  /** Of the segments that a run of the config takes answers from, and of all. */
  readonly taken: AnswerTotals;
  readonly all: AnswerTotals;
}

/** The id of an import begins with this. */
export const IMPORT = 'import-';

/**
 * Shows which answers are stored. Changes nothing.
 * @param answers the store: its files are looked for, and not read.
 * @param now epoch milliseconds.
 */
export async function showAnswers(
  config: Config,
  checkpoint: Pick<CheckpointReader, 'segments'> | undefined,
  answers: Pick<AnswerStore, 'sizeOfSegment'>,
  now: number,
): Promise<ShownAnswers> {
  const segments: ShownSegment[] = [];
  for (const row of (await checkpoint?.segments()) ?? []) {
    const isLost = row.successful + row.failed > 0 && (await answers.sizeOfSegment(row.id)) !== row.bytes;
    segments.push(shown(row, isLost ? 'lost' : unusedOf(row, config, now), config));
  }
  return { segments, taken: totals(segments.filter(({ unused }) => unused === null)), all: totals(segments) };
}

/** When a segment's answers become too old. For a SUCCESSFUL one, that may be up to a fifth of `reuse.maxAge` earlier. */
function expiryOf(
  { newest, successful, failed }: Pick<Segment, 'newest' | 'successful' | 'failed'>,
  { maxAge, failedAge }: Pick<Config['reuse'], 'maxAge' | 'failedAge'>,
): ShownSegment['expires'] {
  return {
    successful: successful > 0 ? newest + maxAge : null,
    failed: failed > 0 ? newest + failedAge : null,
  };
}

/** Whether no answer of a segment is young enough. An empty one is kept as long as a SUCCESSFUL answer would be. */
export function isExpired(segment: Segment, reuse: Config['reuse'], now: number): boolean {
  const { successful, failed } = expiryOf(segment, reuse);
  if (successful === null && failed === null) return segment.newest + reuse.maxAge <= now;
  return Math.max(successful ?? 0, failed ?? 0) <= now;
}

function shown(segment: Segment, unused: Unused | null, config: Config): ShownSegment {
  const { sha256: _, of: _of, takenOut: _takenOut, ...row } = segment;
  return {
    ...row,
    from: segment.run.startsWith(IMPORT) ? 'import' : 'run',
    unused,
    expires: expiryOf(segment, config.reuse),
  };
}

function unusedOf(segment: Segment, config: Config, now: number): Unused | null {
  if (segment.successful + segment.failed === 0) return 'empty';
  if (!isOfService(segment, config)) return 'service';
  if (!isUsable(segment, config)) return 'columns';
  if (segment.epoch !== config.reuse.epoch) return 'epoch';
  return isExpired(segment, config.reuse, now) ? 'expired' : null;
}

function totals(segments: readonly ShownSegment[]): AnswerTotals {
  const sum = (countOf: (segment: ShownSegment) => number) =>
    segments.reduce((all, one) => all + countOf(one), 0);
  const successful = sum((one) => one.successful);
  const failed = sum((one) => one.failed);
  const bytes = sum((one) => one.bytes);
  const records = successful + failed;
  return {
    segments: segments.length,
    successful,
    failed,
    bytes,
    bytesPerRecord: records === 0 ? null : bytes / records,
  };
}
