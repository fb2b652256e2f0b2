/**
 * The service's folios and results in SQLite. Commits progress and its results in one transaction, so that after a kill
 * both are there or neither.
 */
import type Database from 'better-sqlite3';
import { TroubleError } from '../../errors.js';
import type { FileStatus } from '../../types.js';
import type { Folio, NewFolio, Slice } from './folio.js';
import { openDatabase } from './open-database.js';

const FOLIO_COLUMNS = `id, folio, file_name AS fileName, description, created_at AS createdAt, header, records,
  segment_records AS segmentRecords, fail_share AS failShare, fail_seed AS failSeed, status, "offset", successful,
  failed, finished_at AS finishedAt`;

/** Identifies a part of a folio. */
interface PartKey {
  readonly folioId: number;
  readonly fileStatus: FileStatus;
  readonly part: number;
}

type SliceRow = PartKey & { readonly processed: number; readonly content: Uint8Array };

export class FolioStore {
  readonly #db: Database.Database;
  readonly #insertFolio: Database.Statement<[NewFolio]>;
  readonly #selectFolio: Database.Statement<[string], Folio>;
  readonly #updateProgress: Database.Statement<[Omit<Folio, 'status'> & { readonly before: number }]>;
  readonly #insertSlice: Database.Statement<[SliceRow]>;
  readonly #updateFinished: Database.Statement<[{ readonly id: number; readonly finishedAt: number }]>;
  readonly #selectNextSlice: Database.Statement<
    [PartKey & { readonly after: number }],
    { processed: number; content: Buffer }
  >;

  constructor(db: Database.Database) {
    this.#db = db;
    this.#insertFolio = db.prepare(`INSERT INTO folios (folio, file_name, description, created_at, header,
      records, segment_records, fail_share, fail_seed, status, "offset", successful, failed) VALUES (@folio, @fileName,
      @description, @createdAt, @header, @records, @segmentRecords, @failShare, @failSeed, 'PROCESSING', @offset, 0, 0)`);
    this.#selectFolio = db.prepare(`SELECT ${FOLIO_COLUMNS} FROM folios WHERE folio = ?`);
    this.#updateProgress = db.prepare(`UPDATE folios SET "offset" = @offset, successful = @successful,
      failed = @failed WHERE id = @id AND status = 'PROCESSING' AND "offset" = @before`);
    this.#insertSlice = db.prepare(`INSERT INTO slices (folio_id, file_status, part, processed, content)
      VALUES (@folioId, @fileStatus, @part, @processed, @content)`);
    this.#updateFinished = db.prepare(`UPDATE folios SET status = 'FINISHED', finished_at = @finishedAt
      WHERE id = @id AND status = 'PROCESSING' AND successful + failed = records`);
    this.#selectNextSlice = db.prepare(`SELECT processed, content FROM slices WHERE folio_id = @folioId
      AND file_status = @fileStatus AND part = @part AND processed > @after ORDER BY processed LIMIT 1`);
  }

  /** Adds a folio as PROCESSING. It is on disk when this returns. */
  recordUploaded(folio: NewFolio): Folio {
    this.#durably(() => this.#insertFolio.run(folio));
    return this.find(folio.folio)!;
  }

  find(folio: string): Folio | undefined {
    return this.#selectFolio.get(folio);
  }

  /** All folios, oldest first. */
  all(): Folio[] {
    return this.#db.prepare<[], Folio>(`SELECT ${FOLIO_COLUMNS} FROM folios ORDER BY id`).all();
  }

  /** The folios that are PROCESSING, oldest first. */
  processing(): Folio[] {
    return this.#db
      .prepare<[], Folio>(`SELECT ${FOLIO_COLUMNS} FROM folios WHERE status = 'PROCESSING' ORDER BY id`)
      .all();
  }

  /** The id of the newest folio; 0 if there is none. Ids count from 1, in the order in which folios are accepted. */
  newestId(): number {
    return this.#db.prepare<[], { id: number }>('SELECT coalesce(max(id), 0) AS id FROM folios').get()!.id;
  }

  /**
   * Adds a slice's results and advances the progress of a PROCESSING folio. The change survives a kill of the process. A
   * crash of the machine may undo the last slices, each as a whole. They are then processed again.
   * @param folio as last committed. @returns the folio after the slice.
   * @throws TroubleError when the stored folio is in another state.
   */
  recordSlice(folio: Folio, slice: Slice): Folio {
    const next: Folio = {
      ...folio,
      offset: slice.offset,
      successful: folio.successful + slice.successful,
      failed: folio.failed + slice.failed,
    };
    const row = { folioId: folio.id, processed: next.successful + next.failed };
    const part = Math.floor(folio.successful / folio.segmentRecords);
    this.#db.transaction(() => {
      this.#expectOne(this.#updateProgress.run({ ...next, before: folio.offset }), folio);
      if (slice.successful > 0) {
        this.#insertSlice.run({ ...row, fileStatus: 'SUCCESSFUL', part, content: slice.successfulBytes });
      }
      if (slice.failed > 0) {
        this.#insertSlice.run({ ...row, fileStatus: 'FAILED', part: 0, content: slice.failedBytes });
      }
    })();
    return next;
  }

  /**
   * Sets a PROCESSING folio to FINISHED, if all of its records are processed. The change is on disk when this returns.
   * @throws TroubleError when the stored folio is in another state.
   */
  recordFinished(folio: Folio): void {
    const row = { id: folio.id, finishedAt: Date.now() };
    this.#durably(() => this.#expectOne(this.#updateFinished.run(row), folio));
  }

  /** The results of a part. Holds one slice in memory at a time. */
  *content(part: PartKey): Generator<Buffer> {
    let slice = this.#selectNextSlice.get({ ...part, after: 0 });
    while (slice !== undefined) {
      yield slice.content;
      slice = this.#selectNextSlice.get({ ...part, after: slice.processed });
    }
  }

  close(): void {
    this.#db.close();
  }

  /** Commits with a sync to disk. Slices are committed without a sync, because there are many. */
  #durably(change: () => void): void {
    this.#db.pragma('synchronous = FULL');
    try {
      change();
    } finally {
      this.#db.pragma('synchronous = NORMAL');
    }
  }

  /** Throws unless exactly one row was updated. */
  #expectOne(result: Database.RunResult, folio: Folio): void {
    if (result.changes === 1) return;
    throw new TroubleError(
      'SERVICE_STATE',
      `folio ${folio.folio} is not in the state that was last committed`,
      {
        hint: 'start the service again: it continues from its data folder',
        facts: { folio: folio.folio, offset: folio.offset, records: folio.records },
      },
    );
  }
}

/** The part of the store that operations read. */
export type FolioReader = Pick<FolioStore, 'find' | 'content'>;

/** Must be closed. @throws LockedError, ConfigError: see `openDatabase`. */
export function openFolioStore(path: string): FolioStore {
  const db = openDatabase(path);
  db.pragma('synchronous = NORMAL');
  return new FolioStore(db);
}
