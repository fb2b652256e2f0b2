/** Walks over searches in pages, so that memory does not grow with their number. */
import type { CheckpointReader, Search } from './checkpoint.js';

/** Searches of a run for the records from one to another, by record; dropped ones too. */
export async function* eachSearch(
  checkpoint: Pick<CheckpointReader, 'searches'>,
  run: string,
  firstRecord = 1,
  lastRecord = Number.MAX_SAFE_INTEGER,
): AsyncGenerator<Search> {
  let after = firstRecord - 1;
  for (;;) {
    const page = await checkpoint.searches(run, after, pageSize);
    for (const search of page) {
      if (search.record > lastRecord) return;
      yield search;
    }
    if (page.length < pageSize) return;
    after = page.at(-1)!.record;
  }
}

const pageSize = 500;
