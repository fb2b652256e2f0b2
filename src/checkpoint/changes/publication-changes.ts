/** The output being put in place (law 7), in place, and to be written again (law 6). */
import type { Checkpoint, Publication } from '../checkpoint.js';
import type { StateDatabase } from '../state-database.js';
import { expectOne } from './expect-one.js';
import { UNMERGE } from './merge-changes.js';

type PublicationMethod = 'recordPublishing' | 'recordDone' | 'recordUnpublished' | 'recordReopened';

/** Makes the four changes around the publication. */
export function publicationChanges(db: StateDatabase): Pick<Checkpoint, PublicationMethod> {
  const publish = db.prepare(`
    UPDATE runs SET state = 'publishing', publication = @publication
    WHERE id = @run AND state IN ('open', 'publishing', 'done') AND pruned_at IS NULL`);
  const isPartial = db
    .prepare<[{ run: string }], number>(
      "SELECT publication ->> 'partial' FROM runs WHERE id = @run AND state = 'publishing'",
    )
    .pluck();
  const finish = db.prepare(`
    UPDATE runs SET state = 'done', finished_at = @at WHERE id = @run AND state = 'publishing'`);
  const reopen = db.prepare(`
    UPDATE runs SET state = 'open', publication = NULL, finished_at = NULL
    WHERE id = @run AND state = @state AND pruned_at IS NULL`);
  const unmerge = db.prepare(UNMERGE);

  return {
    recordPublishing: db.change((run: string, publication: Publication) => {
      const published = publish.run({ run, publication: JSON.stringify(publication) });
      expectOne(published, 'recordPublishing', `no run ${run} that is open, publishing or done`);
    }),
    recordDone: db.change((run: string, at: number) => {
      const ended = isPartial.get({ run })
        ? reopen.run({ run, state: 'publishing' })
        : finish.run({ run, at });
      expectOne(ended, 'recordDone', `no run ${run} that is publishing`);
    }),
    recordUnpublished: db.change((run: string) => {
      const partial = isPartial.get({ run });
      const reopened = reopen.run({ run, state: 'publishing' });
      expectOne(reopened, 'recordUnpublished', `no run ${run} that is publishing`);
      if (!partial) unmerge.run({ run, fromRecord: 1 });
    }),
    recordReopened: db.change((run: string) => {
      const reopened = reopen.run({ run, state: 'done' });
      expectOne(reopened, 'recordReopened', `no run ${run} that is done and keeps its results`);
    }),
  };
}
