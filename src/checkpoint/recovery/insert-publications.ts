/** Gives the publications that journals tell of their rows. */
import type { StateDatabase } from '../state-database.js';
import type { JournaledRun } from './journaled.js';

/** The statements are prepared once; the insertion is one transaction. */
export function publicationInsertion(db: StateDatabase): (runs: readonly JournaledRun[]) => Promise<void> {
  // Two may be of one content: a number is given once in a pipeline, and is what a publication is.
  const put = db.prepare(`
    INSERT INTO publications (pipeline, number, run, path, bytes, sha256)
    VALUES (@pipeline, @number, @run, @path, @bytes, @sha256)
    ON CONFLICT DO NOTHING`);

  return db.change((runs: readonly JournaledRun[]) => {
    for (const { head, published } of runs) {
      for (const file of published) put.run({ pipeline: head.pipeline, run: head.run, ...file });
    }
  });
}
