/** Keeps the number of open folios within bounds, uploads on their way included. */
import { HttpRefusal } from '../http/http-refusal.js';
import type { Processor } from '../processing/open-processor.js';

/** Longest `Retry-After`, in seconds. */
const MAX_RETRY_AFTER = 60;

export interface Admission {
  /**
   * Takes a place for one upload, until the function that it returns is called.
   * @throws HttpRefusal 429 when all are taken; `Retry-After` is when the first folio may be finished.
   */
  enter(): () => void;
}

export function createAdmission(
  processor: Pick<Processor, 'open' | 'fewestLeft'>,
  limits: { readonly maxOpen: number; readonly recordsPerSecond: number },
): Admission {
  let uploading = 0;
  return {
    enter() {
      if (processor.open + uploading >= limits.maxOpen) {
        throw new HttpRefusal(429, `${limits.maxOpen} folios are open already`, { retryAfter: retryAfter() });
      }
      uploading++;
      return () => {
        uploading--;
      };
    },
  };

  function retryAfter(): number {
    if (limits.recordsPerSecond === 0) return 1;
    const seconds = Math.ceil((processor.fewestLeft * processor.open) / limits.recordsPerSecond);
    return Math.min(MAX_RETRY_AFTER, Math.max(1, seconds));
  }
}
