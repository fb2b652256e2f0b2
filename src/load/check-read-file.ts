/** Checks that a database has read a file exactly as it was published: the same bytes, and all its rows. */

import { createHash } from 'node:crypto';
import { ConfigError, UntrustedError } from '../errors.js';
import type { AtFailpoint } from '../failpoints.js';
import { countOf } from '../quantities.js';
import type { LoadFile } from './load-target.js';

interface CheckedBytes {
  readonly bytes: AsyncIterable<Uint8Array>;
  /**
   * To be called after the last piece.
   * @throws ConfigError `OUTPUT_CHANGED` when the bytes are not the published ones.
   */
  check(): void;
}

/** @param at called between two pieces. */
export function checkedBytes(file: LoadFile, at: AtFailpoint): CheckedBytes {
  const hash = createHash('sha256');
  let size = 0;
  const read = async function* () {
    for await (const piece of file.open()) {
      hash.update(piece);
      size += piece.length;
      yield piece;
      at('after-load-piece-before-next');
    }
  };
  return {
    bytes: read(),
    check: () => {
      if (hash.digest('hex') === file.sha256) return;
      throw new ConfigError('OUTPUT_CHANGED', 'the output is not as it was published, and was not loaded', {
        hint: 'write it again with: foliopipe publish RUN; then: foliopipe load RUN',
        facts: { bytes: size, published: file.bytes },
      });
    },
  };
}

/**
 * @param records rows that the database has read.
 * @throws UntrustedError `LOAD_ROWS_DIFFER` when it has read another number of rows than were published.
 */
export function checkRecords(records: number, file: Pick<LoadFile, 'records'>): void {
  if (records === file.records) return;
  throw new UntrustedError(
    'LOAD_ROWS_DIFFER',
    `the database has read ${countOf(records, 'row')}, and the output has ${file.records}: nothing was loaded`,
    {
      hint: 'please report it, with the version of the database; a line that holds only \\. ends the data for servers of Postgres before version 18',
      facts: { records, published: file.records },
    },
  );
}
