/**
 * Puts better-sqlite3 12 where a clone looks for the driver, on a Node that 13 crashes (`src/sqlite-driver.ts` says
 * why). A lockfile names one version of a package, hence a second lockfile here. npm runs it as the script
 * `dependencies`, whenever it has changed a clone's `node_modules`: for whoever installs the package, npm takes the
 * version whose `engines` fit.
 */
import { execSync } from 'node:child_process';
import { existsSync, rmSync, symlinkSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

const here = import.meta.dirname;
const link = join(here, '../node_modules/better-sqlite3');

if (Number(process.versions.napi) < 10) {
  if (!loads()) execSync('npm ci --loglevel=error', { cwd: here, stdio: 'inherit', env: compilerEnv() });
  rmSync(link, { recursive: true, force: true });
  symlinkSync(join('..', '.node20', 'node_modules', 'better-sqlite3'), link, 'junction');
}

/** Whether an earlier installation is the locked one, and made for this Node: compiling takes a minute. */
function loads() {
  try {
    const load = createRequire(import.meta.url);
    const { version } = load('./package-lock.json').packages['node_modules/better-sqlite3'];
    if (load('./node_modules/better-sqlite3/package.json').version !== version) return false;
    new (load('./node_modules/better-sqlite3'))(':memory:').close();
    return true;
  } catch {
    return false;
  }
}

/** The headers that came with this Node, unless npm's settings name others: node-gyp would fetch them from nodejs.org. */
function compilerEnv() {
  const nodedir = join(process.execPath, '../..');
  const hasHeaders = existsSync(join(nodedir, 'include/node/node.h'));
  return { ...(hasHeaders && { npm_config_nodedir: nodedir }), ...process.env };
}
