/** Writes the records of batches into the CSV of an uploaded file, in WebAssembly. */
import { aligned, bytesOf, INT_BYTES, KernelMemory, SPARE_BYTES } from '../../kernel/kernel-memory.js';
import { type Batch, bytesBetween } from '../table.js';
import { fieldRuns } from './table-memory.js';

/** What assembly/upload.ts exports. */
interface UploadExports {
  readonly written: WebAssembly.Global;
  readonly outEnd: WebAssembly.Global;
  readonly needsRoom: WebAssembly.Global;
  writeUpload(
    bytes: number,
    starts: number,
    ends: number,
    fields: number,
    delimiter: number,
    chosen: number,
    runs: number,
    first: number,
    last: number,
    numbers: number,
    isEmpty: number,
    out: number,
    limit: number,
    room: number,
  ): void;
}

/** The layout of an uploaded file: its header, its key column and the columns of the source that are sent. */
export interface UploadLayout {
  /** The header with its newline. */
  readonly header: Uint8Array;
  /** Whether the record's number comes first. */
  readonly hasKey: boolean;
  /** Indexes of the sent columns in the source, in order. */
  readonly fields: readonly number[];
  /** The source's delimiter, a byte. */
  readonly delimiter: number;
}

/** Initial bytes of room for the file. */
const FIRST_ROOM = 256 * 1024;
/** Up to this size the room doubles. Above it, it grows only as needed, because a batch must fit into the memory too. */
const MAX_DOUBLED_ROOM = 1024 * 1024 * 1024;
/** Addresses are below 2^31, and a batch must fit after the file. */
const MAX_FILE_BYTES = 0x7000_0000;

export class UploadKernel {
  readonly #memory = new KernelMemory<UploadExports>();
  readonly #layout: UploadLayout;
  readonly #runs: Int32Array<ArrayBuffer>;
  /** Address of the file, after the runs of chosen fields. The batch is after the file's room. */
  readonly #fileAt: number;
  #room = FIRST_ROOM;
  #length = 0;
  #loaded: Batch | undefined;
  #startsAt = 0;
  #endsAt = 0;
  #numbersAt = 0;

  constructor(layout: UploadLayout) {
    this.#layout = layout;
    this.#runs = fieldRuns(layout.fields, layout.delimiter);
    this.#fileAt = aligned(this.#runs.byteLength);
    this.#memory.reserve(this.#batchAt);
    this.#memory.bytes.set(bytesOf(this.#runs));
    this.clear();
  }

  /** The file so far; valid until the next call. */
  get file(): Buffer {
    return this.#memory.bytes.subarray(this.#fileAt, this.#fileAt + this.#length);
  }

  /** Begins a new file with the header. */
  clear(): void {
    const { header } = this.#layout;
    if (header.length > this.#room) this.#grow(header.length);
    this.#memory.bytes.set(header, this.#fileAt);
    this.#length = header.length;
  }

  /**
   * Writes records `first` to `last` (exclusive) of a batch while the file stays within `maxBytes`. An empty file takes
   * one record of any size.
   *
   * @returns how many were written.
   */
  write(batch: Batch, first: number, last: number, isEmpty: boolean, maxBytes: number): number {
    if (this.#loaded !== batch) this.#load(batch);
    const { delimiter, hasKey } = this.#layout;
    const { exports } = this.#memory;
    let at = first;
    for (;;) {
      exports.writeUpload(
        // Offsets count from the beginning of the batch's bytes, which may lie before what is loaded.
        this.#batchAt - batch.starts[0]!,
        this.#startsAt,
        this.#endsAt,
        batch.fields,
        delimiter,
        0,
        this.#runs.length / 2,
        at,
        last,
        hasKey ? this.#numbersAt : 0,
        Number(isEmpty && at === first),
        this.#fileAt + this.#length,
        this.#fileAt + Math.min(maxBytes, MAX_FILE_BYTES),
        this.#batchAt - SPARE_BYTES,
      );
      at += exports.written.value;
      this.#length = exports.outEnd.value - this.#fileAt;
      const missing = exports.needsRoom.value;
      if (missing === 0) return at - first;
      this.#grow(Math.max(this.#length + missing, Math.min(this.#room * 2, MAX_DOUBLED_ROOM)));
      this.#load(batch);
    }
  }

  get #batchAt(): number {
    return aligned(this.#fileAt + this.#room + SPARE_BYTES);
  }

  /** Enlarges the file's room. The file keeps its address, but the batch after it must be loaded again. */
  #grow(room: number): void {
    this.#room = room;
    this.#memory.reserve(this.#batchAt);
    this.#loaded = undefined;
  }

  #load(batch: Batch): void {
    const { bytes, count, fields, starts, ends, numbers } = batch;
    // A slice of a batch has the bytes of the whole batch.
    const first = starts[0]!;
    const size = bytesBetween(batch, 0, count);
    this.#startsAt = aligned(this.#batchAt + size + SPARE_BYTES);
    this.#endsAt = this.#startsAt + count * INT_BYTES;
    this.#numbersAt = this.#endsAt + count * fields * INT_BYTES;
    this.#memory.reserve(this.#numbersAt + count * INT_BYTES);
    const memory = this.#memory.bytes;
    memory.set(bytes.subarray(first, first + size), this.#batchAt);
    memory.set(bytesOf(starts.subarray(0, count)), this.#startsAt);
    memory.set(bytesOf(ends.subarray(0, count * fields)), this.#endsAt);
    memory.set(bytesOf(numbers.subarray(0, count)), this.#numbersAt);
    this.#loaded = batch;
  }
}
