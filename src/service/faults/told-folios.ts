/** The folios as a service with faults tells of them; what it has in its store stays as it is. */
import { HttpRefusal } from '../http/http-refusal.js';
import type { ToldFolios } from '../routes/find-folio.js';
import type { Folio } from '../store/folio.js';
import type { TimeScale } from '../time-scale.js';
import type { Fault } from './fault.js';

export function toldFolios(store: ToldFolios, fault: Fault, time: TimeScale): ToldFolios {
  return {
    find(name) {
      const folio = store.find(name);
      if (folio === undefined || fault.forget) return undefined;
      if (isExpired(folio, fault, time)) throw new HttpRefusal(410, 'the results of the folio have expired');
      return fault.neverFinishes ? unfinished(folio) : folio;
    },
    content: (part) => store.content(part),
  };
}

function isExpired(folio: Folio, { expire }: Fault, time: TimeScale): boolean {
  if (expire === undefined || folio.status !== 'FINISHED') return false;
  return time.toService(Date.now() - (folio.finishedAt ?? folio.createdAt)) >= expire;
}

/** At least one record is always left to be processed. */
function unfinished(folio: Folio): Folio {
  if (folio.successful + folio.failed < folio.records) return { ...folio, status: 'PROCESSING' };
  const { successful, failed } = folio;
  const oneLess = failed > 0 ? { failed: failed - 1 } : { successful: successful - 1 };
  return { ...folio, ...oneLess, status: 'PROCESSING' };
}
