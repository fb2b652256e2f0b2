/** The files of uploads that are being received or processed. A file's name is its folio, never the client's name. */
import { readdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { makeFolder } from '../../make-folder.js';
import { syncFolder } from '../../streams/atomic-file.js';

export class UploadFolder {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  path(folio: string): string {
    return path.join(this.#folder, `${folio}.csv`);
  }

  /** A new file survives a crash only if its name does. */
  async sync(): Promise<void> {
    await syncFolder(this.#folder);
  }

  async remove(folio: string): Promise<void> {
    await rm(this.path(folio), { force: true });
  }

  /** Removes the files that a killed service left: incomplete uploads, and the uploads of finished folios. */
  async sweep(processing: readonly string[]): Promise<void> {
    const kept = new Set(processing.map((folio) => `${folio}.csv`));
    for (const name of await readdir(this.#folder)) {
      if (!kept.has(name)) await rm(path.join(this.#folder, name), { force: true });
    }
  }
}

/** Creates the folder if it is missing. Only its owner can read it. */
export async function createUploadFolder(folder: string): Promise<UploadFolder> {
  makeFolder(folder, 0o700);
  return new UploadFolder(folder);
}
