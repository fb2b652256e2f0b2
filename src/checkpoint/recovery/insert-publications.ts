/** Gives the publications that journals tell of their rows. */
import type { StateDatabase } from '../state-database.js';
import type { JournaledRun } from './journaled-run.js';

/** The statements are prepared once; the insertion is one transaction. */
export function publicationInsertion(db: StateDatabase): (runs: readonly JournaledRun[]) => Promise<void> {
  const isKnown = db.prepare(`
    SELECT 1 FROM publications
    WHERE pipeline = @pipeline AND run = @run AND path = @path AND bytes = @bytes AND sha256 = @sha256`);
  const put = db.prepare(`
    INSERT INTO publications (pipeline, number, run, path, bytes, sha256)
    VALUES (@pipeline, @number, @run, @path, @bytes, @sha256)
    ON CONFLICT DO NOTHING`);

  return db.change((runs: readonly JournaledRun[]) => {
    const published = runs.flatMap(({ head, published }) => published.map((one) => ({ head, ...one })));
    // In the order in which they came to stand in their places.
    for (const { head, publication } of published.sort((a, b) => a.at - b.at)) {
      const { number, bytes, sha256, output } = publication;
      const row = { pipeline: head.pipeline, run: head.run, path: output.path, bytes, sha256 };
      if (isKnown.get(row) === undefined) put.run({ ...row, number });
    }
  });
}
