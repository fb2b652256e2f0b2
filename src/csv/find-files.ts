/** Resolves the source's path to its files. */
import { stat } from 'node:fs/promises';
import { isAbsolute } from 'node:path';
import { glob } from 'tinyglobby';
import { SourceError } from '../errors/index.js';

/**
 * The file of that name, or the files that a glob matches, in byte order of their paths. A name that
 * exists is taken as it stands, whatever characters it has.
 *
 * @throws SourceError `SOURCE_MISSING` when nothing is there.
 */
export async function findFiles(pattern: string): Promise<string[]> {
  const isThere = await stat(pattern).then(
    () => true,
    () => false,
  );
  if (isThere) return [pattern];
  const files = await glob(pattern, {
    onlyFiles: true,
    absolute: isAbsolute(pattern),
    dot: true,
    expandDirectories: false,
  });
  if (files.length > 0) return files.sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  throw new SourceError('SOURCE_MISSING', `${pattern}: no file has this name or matches it`, {
    hint: 'check source.path: relative paths in a config file are relative to that file',
    facts: { pattern },
  });
}
