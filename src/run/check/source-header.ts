/**
 * The columns of a source, without reading its records: from the header of its files, or as a database describes them.
 */

import type { Config } from '../../config/schema.js';
import { OWN_DIALECT } from '../../config/sections/source-section.js';
import { STREAM } from '../../config/sections/values.js';
import { SourceError } from '../../errors.js';
import type { LayoutSource } from '../../results/output-layout.js';
import { type InspectedFile, inspectFile } from '../../source/inspect-file.js';
import { parquetColumns } from '../../spool/copy-parquet.js';
import { isSpooled, namedFiles, nameOfQuery, queryColumns } from '../../spool/open-source.js';
import { spoolFolder } from '../../spool/spool-folder.js';
import type { Dialect } from '../../types.js';

/** The header of one file, or of a query. */
export interface SourceHeader {
  /** As it is shown. */
  readonly name: string;
  readonly columns: readonly string[];
  readonly files: readonly { readonly dialect: Dialect }[];
  /** The file; left out of a query and of Parquet. */
  readonly file?: InspectedFile;
}

/** The dialect of what foliopipe writes itself. */
const ownDialect: Dialect = { ...OWN_DIALECT, bom: false, newline: 'LF', gzip: false };

/**
 * Reads one header after the other: a pattern may match more files than a process may open. Gives none for standard
 * input, which it does not read. Does not run a query.
 * @throws SourceError, ConfigError, RefusedError or TroubleError when a header cannot be read.
 */
export async function* sourceHeaders(config: Config, signal: AbortSignal): AsyncGenerator<SourceHeader> {
  const { source } = config;
  if (source.query !== null) {
    yield ownHeader(nameOfQuery(source.query), await queryColumns(config, source.query, signal));
    return;
  }
  for (const path of await namedFiles(source)) {
    if (isSpooled(source)) {
      const folder = spoolFolder(config);
      yield ownHeader(path, await parquetColumns(path, { folder, signal }));
    } else {
      const file = await inspectFile(path, source);
      const { columns, dialect } = file;
      yield { name: path, columns, files: [{ dialect }], file };
    }
  }
}

function ownHeader(name: string, columns: readonly string[]): SourceHeader {
  return { name, columns, files: [{ dialect: ownDialect }] };
}

/**
 * The first header of the source.
 * @throws SourceError `SOURCE_STDIN_UNREAD` for standard input; those of `sourceHeaders`.
 */
export async function firstSourceHeader(config: Config): Promise<LayoutSource> {
  for await (const header of sourceHeaders(config, new AbortController().signal)) return header;
  throw new SourceError(
    'SOURCE_STDIN_UNREAD',
    'the columns of standard input are not known before it is read',
    {
      hint: 'foliopipe run reads it, and checks everything before it pays; or name a file with the same header: --source FILE',
      facts: { source: STREAM },
    },
  );
}
