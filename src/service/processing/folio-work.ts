/** Works on one folio, slice by slice; what is committed is all that it needs to go on after a kill. */
import type { Batch } from '../../csv/batch.js';
import { ByteWriter } from '../../csv/byte-writer.js';
import { readHeader } from '../../csv/read-header.js';
import { recordsMadeToFail } from '../faults/decide-faults.js';
import type { Predictor } from '../predictors/predictor.js';
import type { Folio } from '../store/folio.js';
import type { FolioStore } from '../store/folio-store.js';
import { readUpload, uploadLayout } from '../uploads/read-upload.js';
import type { UploadFolder } from '../uploads/upload-folder.js';
import { processSlice, type SliceTools } from './process-slice.js';

/** How long a slice may hold up the event loop, commit not counted. */
const SLICE_MS = 15;
const WRITER_BYTES = 64 * 1024;

/** What all folios share. */
export interface WorkResources {
  readonly store: FolioStore;
  readonly uploads: UploadFolder;
  readonly predictor: Predictor;
}

export class FolioWork {
  readonly #resources: WorkResources;
  readonly #tools: SliceTools;
  #folio: Folio;
  #batches: AsyncGenerator<Batch> | undefined;
  #batch: Batch | undefined;
  /** The batch's next record, 0-based. */
  #next = 0;

  constructor(folio: Folio, resources: WorkResources) {
    this.#folio = folio;
    this.#resources = resources;
    this.#tools = {
      predictor: resources.predictor,
      layout: uploadLayout(readHeader(folio.header, ',').columns),
      isMadeToFail: recordsMadeToFail(folio),
      successful: new ByteWriter(WRITER_BYTES),
      failed: new ByteWriter(WRITER_BYTES),
    };
  }

  /** The folio as last committed. */
  get folio(): Folio {
    return this.#folio;
  }

  get remaining(): number {
    return this.#folio.records - this.#folio.successful - this.#folio.failed;
  }

  /** Processes and commits up to `limit` records of the upload. @returns how many: at least one. @throws UploadLostError. */
  async processSlice(limit: number): Promise<number> {
    const batch = await this.#currentBatch();
    const { successful, failed } = this.#tools;
    const { segmentRecords } = this.#folio;
    const counts = processSlice(
      batch,
      this.#next,
      {
        records: Math.min(limit, this.remaining),
        successful: segmentRecords - (this.#folio.successful % segmentRecords),
        until: performance.now() + SLICE_MS,
      },
      this.#tools,
    );
    const processed = counts.successful + counts.failed;
    this.#next += processed;
    this.#folio = this.#resources.store.recordSlice(this.#folio, {
      ...counts,
      offset: batch.base + batch.ends[this.#next * batch.fields - 1]!,
      successfulBytes: successful.view(),
      failedBytes: failed.view(),
    });
    successful.clear();
    failed.clear();
    return processed;
  }

  /** Takes the folio, with every record processed, to FINISHED. */
  finish(): void {
    this.#resources.store.recordFinished(this.#folio);
  }

  /** Closes and removes the upload, which a finished folio no longer needs. */
  async removeUpload(): Promise<void> {
    await this.close();
    await this.#resources.uploads.remove(this.#folio.folio);
  }

  /** Lets go of the file and of what is not committed; `processSlice` may be called again. */
  async close(): Promise<void> {
    const batches = this.#batches;
    this.#batches = undefined;
    this.#batch = undefined;
    this.#tools.successful.clear();
    this.#tools.failed.clear();
    await batches?.return(undefined);
  }

  async #currentBatch(): Promise<Batch> {
    if (this.#batch !== undefined && this.#next < this.#batch.count) return this.#batch;
    const { folio, offset, successful, failed } = this.#folio;
    this.#batches ??= readUpload(this.#resources.uploads.path(folio), {
      fields: this.#tools.layout.fields,
      offset,
      record: successful + failed + 1,
    });
    const next = await this.#batches.next().catch(throwAsLost);
    if (next.done) throw new UploadLostError('the upload ended before its last record');
    this.#batch = next.value;
    this.#next = 0;
    return this.#batch;
  }
}

function throwAsLost(error: unknown): never {
  if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error;
  throw new UploadLostError('the upload is not there', { cause: error });
}

/** A folio's upload is gone, or shorter than it was: trying again does not bring it back. */
export class UploadLostError extends Error {
  override readonly name = 'UploadLostError';
}
