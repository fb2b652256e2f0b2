/** What the cases share: sources that are made once, a folder for all that is written, and the command line's options. */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { measureCommand, measureNode } from './measure.js';

const here = fileURLToPath(new URL('.', import.meta.url));

/** Must be closed, which removes all that was written. */
export function openLab({ pairs, records, rows }) {
  const folder = mkdtempSync(join(tmpdir(), 'foliopipe-bench-'));
  const made = new Map();
  return {
    pairs,
    /** Records of a case's source: those of the command line, or else the usual number of the case. */
    recordsOr: (usual) => records ?? usual,
    /** The entries of a case's table that the command line asks for, and these; all of them if it asks for none. */
    rowsOf: (table, always) => {
      if (rows === undefined) return table;
      const unknown = rows.find((name) => !Object.hasOwn(table, name));
      if (unknown !== undefined)
        throw new Error(`no row ${unknown}; there are: ${Object.keys(table).join(', ')}`);
      return Object.fromEntries(
        Object.entries(table).filter(([name]) => always.includes(name) || rows.includes(name)),
      );
    },
    /** A generated source; one of a dialect, size and content is made once. */
    source: async (count, dialect = 'comma', gzip = false, content = 'plain') => {
      const path = join(folder, `source-${count}-${dialect}-${content}.csv${gzip ? '.gz' : ''}`);
      if (made.has(path)) return path;
      const options = ['--records', `${count}`, '--dialect', dialect, '--content', content, '--seed', '1'];
      await measureCommand(process.execPath, [
        join(here, 'generate.js'),
        ...options,
        '--out',
        path,
        ...(gzip ? ['--gzip'] : []),
      ]);
      made.set(path, true);
      return path;
    },
    /** A source for the reuse of answers (reuse-source.js), and how many of its records are changed. */
    reuseSource: async (count, name, ...options) => {
      const path = join(folder, name);
      const args = ['--records', `${count}`, '--out', path, ...options];
      const { changed } = await measureNode([join(here, 'reuse-source.js'), ...args]);
      return { path, changed };
    },
    /**
     * An empty folder, for a measurement that makes many files. Earlier ones are removed only at the end: ext4 without a
     * journal looks at each inode that was freed in the last minute, whenever a file is made.
     */
    newFolder: (name) => mkdtempSync(join(folder, `${name}-`)),
    /** Makes a file, unless it was made before. */
    once: async (path, make) => {
      if (!made.has(path)) await make();
      made.set(path, true);
    },
    path: (name) => join(folder, name),
    /** An empty folder of that name. */
    emptyFolder: (name) => {
      const path = join(folder, name);
      rmSync(path, { recursive: true, force: true });
      mkdirSync(path, { recursive: true });
      return path;
    },
    close: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** Path of a program of this folder. */
export function program(name) {
  return join(here, name);
}
