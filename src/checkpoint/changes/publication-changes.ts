/** The output being put in place (law 7), in place, and to be written again (law 6). */
import type { Checkpoint, Publication } from '../checkpoint.js';
import type { StateDatabase } from '../state-database.js';
import { expectOne } from './expect-one.js';
import { UNMERGE } from './merge-changes.js';

type PublicationMethod = 'recordPublishing' | 'recordDone' | 'recordUnpublished';

/** Makes the three changes around the publication. */
export function publicationChanges(db: StateDatabase): Pick<Checkpoint, PublicationMethod> {
  const publish = db.prepare(`
    UPDATE runs SET state = 'publishing', publication = @publication
    WHERE id = @run AND state IN ('open', 'publishing', 'done')`);
  const finish = db.prepare(`
    UPDATE runs SET state = 'done', finished_at = @at WHERE id = @run AND state = 'publishing'`);
  const reopen = db.prepare(`
    UPDATE runs SET state = 'open', publication = NULL, finished_at = NULL
    WHERE id = @run AND state = 'publishing'`);
  const unmerge = db.prepare(UNMERGE);

  return {
    recordPublishing: db.change((run: string, publication: Publication) => {
      const published = publish.run({ run, publication: JSON.stringify(publication) });
      expectOne(published, 'recordPublishing', `no run ${run} that is open, publishing or done`);
    }),
    recordDone: db.change((run: string, at: number) => {
      expectOne(finish.run({ run, at }), 'recordDone', `no run ${run} that is publishing`);
    }),
    recordUnpublished: db.change((run: string) => {
      expectOne(reopen.run({ run }), 'recordUnpublished', `no run ${run} that is publishing`);
      unmerge.run({ run, fromChunk: 1 });
    }),
  };
}
