/**
 * Finds which files a source's pattern would match if they existed: what foliopipe writes must not become its next source.
 * Runs the search for source files on a disk that seems to hold these files.
 */
import type { Dirent, readdir as readFolder, Stats } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { globOptions, searchedPattern } from './source-files.js';

/** The future entries of a folder: their names, and whether they are folders. */
type Entries = Map<string, boolean>;

/**
 * @param names absolute paths of files. Their folders may be missing, or be reached by links.
 * @returns those that the pattern would match, in their order.
 */
export async function futureMatches(pattern: string, names: readonly string[]): Promise<string[]> {
  const folders = new Map<string, Entries>();
  const add = (folder: string, name: string, isFolder: boolean) => {
    const entries = folders.get(folder) ?? new Map<string, boolean>();
    folders.set(folder, entries.set(name, isFolder));
  };
  const identities = new Map<string, string>();
  for (const name of names) {
    const { real, missing } = await identify(dirname(name));
    for (const [at, part] of missing.entries()) add([real, ...missing.slice(0, at)].join('/'), part, true);
    const folder = [real, ...missing].join('/');
    add(folder, basename(name), false);
    identities.set(`${folder}/${basename(name)}`, name);
  }
  const { glob } = await import('tinyglobby');
  const disk = { readdir: withFuture(folders) };
  const matches = await glob(searchedPattern(pattern), { ...globOptions(pattern), fs: disk });
  const basenames = new Set(names.map((name) => basename(name)));
  const found = new Set<string | undefined>();
  for (const match of matches) {
    if (!basenames.has(basename(match))) continue;
    const { real, missing } = await identify(dirname(match));
    found.add(identities.get([real, ...missing, basename(match)].join('/')));
  }
  return names.filter((name) => found.has(name));
}

/** The nearest folder that exists, identified by device and inode, and the missing names below it. */
async function identify(folder: string): Promise<{ real: string; missing: string[] }> {
  const missing: string[] = [];
  for (let path = folder; ; path = dirname(path)) {
    const found: Stats | undefined = await stat(path).catch(() => undefined);
    if (found !== undefined || path === dirname(path)) {
      return { real: found === undefined ? path : `${found.dev}-${found.ino}`, missing };
    }
    missing.unshift(basename(path));
  }
}

/** `readdir` with callback, as the search calls it. An unreadable folder seems to have only its future entries. */
function withFuture(folders: ReadonlyMap<string, Entries>): typeof readFolder {
  const read = async (folder: string) => {
    const { real, missing } = await identify(folder);
    const future = folders.get([real, ...missing].join('/')) ?? new Map<string, boolean>();
    const there = await readdir(folder, { withFileTypes: true }).catch(() => []);
    const names = new Set(there.map(({ name }) => name));
    const entries = [...future].filter(([name]) => !names.has(name));
    return [...there, ...entries.map(([name, isFolder]) => entryOf(name, isFolder))];
  };
  const readdirLike = (
    folder: string,
    _options: unknown,
    done: (error: Error | null, entries?: Dirent[]) => void,
  ) => {
    read(folder).then((entries) => done(null, entries), done);
  };
  return readdirLike as typeof readFolder;
}

function entryOf(name: string, isFolder: boolean): Dirent {
  const entry = { name, isDirectory: () => isFolder, isFile: () => !isFolder, isSymbolicLink: () => false };
  return entry as Dirent;
}
