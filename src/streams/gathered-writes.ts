/**
 * Gathers small pieces of a file, and writes many at once: each write costs the system as much as its bytes do, and as
 * much again if it begins or ends within a page.
 */

const GATHERED_BYTES = 256 * 1024;

export class GatheredWrites {
  readonly #write: (bytes: Uint8Array) => void;
  readonly #gathered = Buffer.allocUnsafeSlow(GATHERED_BYTES);
  #filled = 0;

  /** @param write appends bytes to the file at once; they may be overwritten after that. */
  constructor(write: (bytes: Uint8Array) => void) {
    this.#write = write;
  }

  add(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length; ) {
      const size = Math.min(bytes.length - at, GATHERED_BYTES - this.#filled);
      this.#gathered.set(bytes.subarray(at, at + size), this.#filled);
      this.#filled += size;
      at += size;
      if (this.#filled === GATHERED_BYTES) this.flush();
    }
  }

  /** Writes what was gathered. */
  flush(): void {
    if (this.#filled > 0) this.#write(this.#gathered.subarray(0, this.#filled));
    this.#filled = 0;
  }
}
