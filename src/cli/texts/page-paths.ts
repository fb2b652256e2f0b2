/**
 * The package's version, its folder, and the paths of its pages. Texts name a page as in a clone, such as
 * `docs/faults.md`; in a project that has installed the package, that file is in `node_modules`.
 */
import { createRequire } from 'node:module';
import { dirname, join, parse, relative, sep } from 'node:path';

const require = createRequire(import.meta.url);

/** Found by the package's own name, which works from the sources and from the build. */
export const packageFile = require.resolve('foliopipe/package.json');

export const { version } = require(packageFile) as { version: string };

/** Files of the package that texts name for a person to read. */
const page = /(?<![\w./-])(?:docs\/[a-z-]+\.md|config\/(?:nightly|faults)\.example\.yaml)/g;

/** With more steps up than this, an absolute path is easier to read. */
const MAX_STEPS_UP = 2;

/**
 * Completes the paths of the pages that a text names. Idempotent.
 * @param folder of the package.
 * @param cwd the folder from which a relative path is read.
 */
export function withPagePaths(text: string, folder = dirname(packageFile), cwd = currentFolder()): string {
  const isInstalled = folder.split(sep).includes('node_modules');
  if (!isInstalled || cwd === undefined) return text;
  const near = relative(cwd, folder);
  const isFar = near.split(sep).filter((step) => step === '..').length > MAX_STEPS_UP;
  // A service works in the root folder, and its log is read elsewhere.
  const isService = cwd === parse(cwd).root;
  return text.replaceAll(page, (name) => join(isFar || isService ? folder : near, name));
}

/** @returns undefined if the folder was removed. */
function currentFolder(): string | undefined {
  try {
    return process.cwd();
  } catch {
    return undefined;
  }
}
