/**
 * Copies of sources where every machine finds them: what standard input or a query gave a run may never come again. A
 * Parquet file is not one of them: each machine makes its own copy.
 */
import { rmSync, statSync } from 'node:fs';
import type { Config } from '../config/schema.js';
import type { FileCache } from '../files/file-cache.js';
import type { SharedFiles } from '../files/shared-files.js';
import type { Source } from '../types.js';
import { copyName, spoolName } from './spool-folder.js';

type Pipeline = Pick<Config, 'pipeline'>;

export interface SharedCopies {
  /** Brings the copies that a run has read into the spool of this machine. One that is missing or damaged is left out. */
  fetch(owner: Pipeline, source: Pick<Source, 'files'>): Promise<void>;
  /**
   * Keeps the copies in the spool of this machine. When the promise has resolved, they are durable.
   * @throws LockedError `LEASE_LOST`.
   */
  keep(owner: Pipeline, source: Pick<Source, 'files'>): Promise<void>;
  /** Removes the kept copies of a pipeline, except those with these hashes. @throws LockedError `LEASE_LOST`. */
  removeAllBut(owner: Pipeline, hashes: ReadonlySet<string>): Promise<void>;
}

/** @param cache with the folder of `spoolFolder`. */
export function createSharedCopies(shared: SharedFiles, cache: FileCache): SharedCopies {
  /** Copies that were damaged where they are kept. */
  const damaged = new Set<string>();
  const copiesOf = ({ pipeline }: Pipeline, { files }: Pick<Source, 'files'>) =>
    files.map(({ sha256 }) => ({ name: copyName(pipeline, sha256), sha256 }));
  return {
    fetch: async (owner, source) => {
      for (const { name, sha256 } of copiesOf(owner, source)) {
        const kept = await shared.find(name);
        // A copy that is here only is not removed.
        if (kept === undefined) continue;
        if (kept.sha256 === sha256) await cache.fetch(name);
        // The cache leaves an empty file in place of a damaged one.
        if (kept.sha256 === sha256 && statSync(cache.pathOf(name)).size > 0) continue;
        rmSync(cache.pathOf(name), { force: true });
        damaged.add(name);
      }
    },
    keep: async (owner, source) => {
      for (const { name, sha256 } of copiesOf(owner, source)) {
        if (!damaged.has(name) && (await shared.find(name))?.sha256 === sha256) continue;
        await cache.store(name);
        damaged.delete(name);
      }
    },
    removeAllBut: async (owner, hashes) => {
      const kept = new Set([...hashes].map((sha256) => copyName(owner.pipeline, sha256)));
      const all = await shared.list(spoolName(owner.pipeline));
      const unneeded = all.map(({ name }) => name).filter((name) => !kept.has(name));
      if (unneeded.length > 0) await shared.remove(unneeded);
    },
  };
}
