/** Recognizes a source that was given as the config: `foliopipe run businesses.csv`. */
import { closeSync, openSync, readSync, statSync } from 'node:fs';
import { ConfigError } from '../../pipelines/index.js';
import { escapeUnprintable, quoteForShell } from '../text.js';

/**
 * @param file as it was typed.
 * @throws ConfigError `CONFIG_IS_SOURCE` for a CSV, a Parquet file or a workbook, by its name or its first bytes. An
 *   unreadable file is left to the reader of configs.
 */
export function refuseSourceAsConfig(file: string): void {
  const kind = kindByName(file) ?? kindByContent(file);
  if (kind === undefined) return;
  const shown = quoteForShell(escapeUnprintable(file));
  throw new ConfigError('CONFIG_IS_SOURCE', `${escapeUnprintable(file)}: this is ${kind}, and not a config`, {
    hint: `write a config for it: foliopipe init ${shown}; with an existing config: foliopipe run -c CONFIG --source ${shown}`,
    facts: { file },
  });
}

function kindByName(file: string): string | undefined {
  if (/\.parquet$/i.test(file)) return 'a Parquet file';
  if (/\.xlsx?$/i.test(file)) return 'a workbook';
  return /\.(?:csv|tsv)(?:\.(?:gz|zst))?$|\.gz$/i.test(file) ? 'a CSV' : undefined;
}

function kindByContent(file: string): string | undefined {
  if (/\.(?:ya?ml|json)$/i.test(file)) return undefined;
  const start = firstBytes(file).toString('latin1');
  if (start.startsWith('PAR1')) return 'a Parquet file';
  if (start.startsWith('PK\x03\x04')) return 'a workbook or another archive';
  if (start.startsWith('\x1f\x8b')) return 'a packed file';
  const [header = '', record] = start.replaceAll('\0', '').split(/\r?\n/, 2);
  const isCsv = record !== undefined && /^[^#:{[]*[,;\t|][^:{[]*$/.test(header) && /[,;\t|]/.test(record);
  return isCsv ? 'a CSV' : undefined;
}

/** Reads nothing from a pipe, because its bytes could not be read again. */
function firstBytes(file: string): Buffer {
  try {
    if (!statSync(file).isFile()) return Buffer.alloc(0);
    const handle = openSync(file, 'r');
    try {
      const bytes = Buffer.alloc(4096);
      return bytes.subarray(0, readSync(handle, bytes));
    } finally {
      closeSync(handle);
    }
  } catch {
    return Buffer.alloc(0);
  }
}
