/** Limits the open folios: those in work and those that are still being uploaded. */
import { HttpRefusal } from '../http/http-refusal.js';
import type { Processor } from '../processing/open-processor.js';

/** Longest `Retry-After`, in seconds. */
const MAX_RETRY_AFTER = 60;

export interface FolioLimit {
  /**
   * Takes a slot for an upload until the returned function is called. An accepted folio keeps its slot as an open
   * folio of the processor.
   * @throws HttpRefusal 429 when all slots are taken; its `Retry-After` estimates when the first folio finishes.
   */
  acquire(): () => void;
}

interface FolioLimitOptions {
  readonly maxOpen: number;
  /** Records per second of real time, all folios together; 0: no limit. */
  readonly recordsPerSecond: number;
}

export function createFolioLimit(
  processor: Pick<Processor, 'open' | 'fewestLeft'>,
  { maxOpen, recordsPerSecond }: FolioLimitOptions,
): FolioLimit {
  let uploading = 0;

  function retryAfter(): number {
    if (recordsPerSecond === 0) return 1;
    const seconds = Math.ceil((processor.fewestLeft * processor.open) / recordsPerSecond);
    return Math.min(MAX_RETRY_AFTER, Math.max(1, seconds));
  }

  return {
    acquire() {
      if (processor.open + uploading >= maxOpen) {
        throw new HttpRefusal(429, `${maxOpen} folios are open already`, { retryAfter: retryAfter() });
      }
      uploading++;
      return () => {
        uploading--;
      };
    },
  };
}
