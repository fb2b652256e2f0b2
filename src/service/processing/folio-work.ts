/** Processes one folio, slice by slice. After a kill it continues from the committed state. */
import { ByteWriter } from '../../csv/byte-writer.js';
import { readHeader } from '../../csv/read-header.js';
import type { Batch } from '../../csv/table.js';
import { isFileMissing } from '../../streams/system-error.js';
import type { Predictor } from '../predictors/predictor.js';
import type { Folio } from '../store/folio.js';
import type { FolioStore } from '../store/folio-store.js';
import { readUpload, uploadLayout } from '../uploads/read-upload.js';
import type { UploadFolder } from '../uploads/upload-folder.js';
import { forcedFailures, processSlice, type SliceTools } from './process-slice.js';

/** How long a slice may block the event loop, not counting its commit. */
const SLICE_MS = 15;
const WRITER_BYTES = 64 * 1024;

/** Resources that the work on all folios shares. */
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
  /** 0-based index of the batch's next record. */
  #next = 0;

  constructor(folio: Folio, resources: WorkResources) {
    this.#folio = folio;
    this.#resources = resources;
    this.#tools = {
      predictor: resources.predictor,
      layout: uploadLayout(readHeader(folio.header, ',').columns),
      mustFail: forcedFailures(folio),
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

  /**
   * Processes and commits up to `limit` records of the upload.
   * @returns the number of processed records, at least one.
   * @throws UploadLostError
   */
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

  /** Sets the folio to FINISHED. All of its records must be processed. */
  finish(): void {
    this.#resources.store.recordFinished(this.#folio);
  }

  /** Closes and removes the upload of a finished folio. */
  async removeUpload(): Promise<void> {
    await this.close();
    await this.#resources.uploads.remove(this.#folio.folio);
  }

  /** Closes the upload and drops results that are not committed. `processSlice` may be called again. */
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
    const next = await this.#batches.next().catch(throwUploadLost);
    if (next.done) throw new UploadLostError('the upload ended before its last record');
    this.#batch = next.value;
    this.#next = 0;
    return this.#batch;
  }
}

function throwUploadLost(error: unknown): never {
  if (!isFileMissing(error)) throw error;
  throw new UploadLostError('the upload does not exist', { cause: error });
}

/** A folio's upload is missing or shorter than before. Permanent: another attempt cannot succeed. */
export class UploadLostError extends Error {
  override readonly name = 'UploadLostError';
}
