/** The files of the folios that are being received or processed; named by folio, never by the client. */
import { mkdir, open, readdir, rm } from 'node:fs/promises';
import path from 'node:path';

export class UploadFolder {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  path(folio: string): string {
    return path.join(this.#folder, `${folio}.csv`);
  }

  /** Puts the folder's entries on disk: a new file's bytes are safe only together with its name. */
  async sync(): Promise<void> {
    const handle = await open(this.#folder, 'r');
    try {
      await handle.sync();
    } finally {
      await handle.close();
    }
  }

  async remove(folio: string): Promise<void> {
    await rm(this.path(folio), { force: true });
  }

  /** Removes what a kill left behind: half uploads, and those of finished folios. */
  async sweep(processing: readonly string[]): Promise<void> {
    const kept = new Set(processing.map((folio) => `${folio}.csv`));
    for (const name of await readdir(this.#folder)) {
      if (!kept.has(name)) await rm(path.join(this.#folder, name), { force: true });
    }
  }
}

/** Makes the folder where it is missing, for its owner alone. */
export async function createUploadFolder(folder: string): Promise<UploadFolder> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  return new UploadFolder(folder);
}
