/** Reads for reports on a run and on the nights before it. */
import type { CheckpointReader, ChunkTimes, Night, NightFacts } from '../checkpoint.js';
import type { StateDatabase } from './state-database.js';

interface StoredTimes extends Omit<ChunkTimes, 'counts'> {
  readonly successful: number | null;
  readonly failed: number | null;
}

interface StoredNight {
  readonly publication: number;
  readonly run: string;
  readonly night: string;
}

/** Makes `nights`, `nightOf` and `chunkTimes`. */
export function historyReads(db: StateDatabase): Pick<CheckpointReader, 'nights' | 'nightOf' | 'chunkTimes'> {
  const nights = db.prepare<[string, number, number], StoredNight>(`
    SELECT number AS publication, run, night FROM publications
    WHERE pipeline = ? AND number <= ? AND night IS NOT NULL
      AND NOT EXISTS (SELECT 1 FROM runs WHERE id = run AND record_limit IS NOT NULL)
    ORDER BY number DESC LIMIT ? + 0`);
  const ofRun = db.prepare<[string], StoredNight>(`
    SELECT number AS publication, run, night FROM publications
    WHERE run = ? AND night IS NOT NULL ORDER BY number DESC LIMIT 1`);
  // A dropped attempt has sent nothing: it is a part of the wait.
  const times = db.prepare<[string, number, number], StoredTimes>(`
    SELECT number, round, records, state, attempt, folio, successful, failed, cause, cut_at AS cutAt,
      (SELECT max(started_at) FROM uploads
        WHERE uploads.run = chunks.run AND chunk = number AND uploads.state <> 'dropped') AS uploadAt,
      submitted_at AS submittedAt, finished_at AS finishedAt, downloaded_at AS downloadedAt,
      iif(round > 0, NULL, (SELECT iif(merged.last_record >= chunks.last_record, merged_at, NULL)
        FROM stretches AS merged WHERE merged.run = chunks.run AND merged.first_record <= chunks.last_record
        ORDER BY merged.first_record DESC LIMIT 1)) AS mergedAt
    FROM chunks WHERE run = ? AND number > ? AND state <> 'split' ORDER BY number LIMIT ? + 0`);

  return {
    nights: db.read((pipeline: string, limit: number, upTo = Number.MAX_SAFE_INTEGER) =>
      nights.all(pipeline, upTo, limit).map(toNight),
    ),
    nightOf: db.read((run: string) => {
      const found = ofRun.get(run);
      return found && toNight(found);
    }),
    chunkTimes: db.read((run: string, after: number, limit: number) =>
      times.all(run, after, limit).map(toTimes),
    ),
  };
}

function toNight({ night, run, publication }: StoredNight): Night {
  return { ...(JSON.parse(night) as NightFacts), run, publication };
}

function toTimes({ successful, failed, ...times }: StoredTimes): ChunkTimes {
  return { ...times, counts: successful === null ? null : { successful, failed: failed ?? 0 } };
}
