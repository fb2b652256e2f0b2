/**
 * Builds the programs that the case `anchors` compares with, into bench/anchors/built. Says what each of them needs, and
 * goes on without those for which something is missing. `node bench/anchors/build.js`
 *
 * ZSV and SIMDUTF name checkouts of github.com/liquidaty/zsv and github.com/simdutf/simdutf. On Debian the rest comes
 * from the packages cargo, librust-csv-dev, librust-flate2-dev, g++, make, python3 and openssl.
 */
import { execFileSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = fileURLToPath(new URL('.', import.meta.url));
const built = join(here, 'built');
const DEBIAN_CRATES = '/usr/share/cargo/registry';

const ANCHORS = {
  'split, join': {
    needs: 'cargo, and the crates csv and flate2 (Debian: cargo librust-csv-dev librust-flate2-dev)',
    build: () => {
      const crates = existsSync(DEBIAN_CRATES)
        ? [
            '--offline',
            '--config',
            'source.crates-io.replace-with="debian"',
            '--config',
            `source.debian.directory="${DEBIAN_CRATES}"`,
          ]
        : [];
      const target = join(built, 'target');
      run('cargo', ['build', '--release', '--target-dir', target, ...crates], join(here, 'rust'));
      for (const name of ['split', 'join']) copyFileSync(join(target, 'release', name), join(built, name));
    },
  },
  zsv_count: {
    needs: 'make, a C compiler, and ZSV, the folder of a checkout of liquidaty/zsv',
    build: () => {
      const checkout = folderOf('ZSV');
      run('./configure', [], checkout);
      run('make', ['-C', 'src', 'build'], checkout);
      run('make', ['-C', 'app', 'build-count'], checkout);
      const paths = execFileSync('find', ['build', '-name', 'zsv_count', '-type', 'f'], { cwd: checkout });
      copyFileSync(join(checkout, paths.toString().split('\n')[0]), join(built, 'zsv_count'));
    },
  },
  decode: {
    needs: 'g++, python3, and SIMDUTF, the folder of a checkout of simdutf/simdutf',
    build: () => {
      const single = join(built, 'simdutf');
      mkdirSync(single, { recursive: true });
      const env = { ...process.env, AMALGAMATE_OUTPUT_PATH: single };
      run('python3', ['singleheader/amalgamate.py'], folderOf('SIMDUTF'), env);
      const sources = [join(here, 'decode.cpp'), join(single, 'simdutf.cpp')];
      run('g++', ['-O3', '-std=c++17', `-I${single}`, ...sources, '-o', join(built, 'decode')], built);
    },
  },
};

mkdirSync(built, { recursive: true });
let isWhole = true;
for (const [name, { needs, build }] of Object.entries(ANCHORS)) {
  try {
    build();
    console.log(`built: ${name}`);
  } catch (error) {
    isWhole = false;
    for (const each of name.split(', ')) rmSync(join(built, each), { force: true });
    console.error(`NOT BUILT: ${name}. It needs ${needs}.\n  ${lastLines(error)}`);
  }
}
process.exitCode = isWhole ? 0 : 1;

function folderOf(variable) {
  const folder = process.env[variable];
  if (folder === undefined) throw new Error(`${variable} is not set`);
  return folder;
}

function run(command, args, cwd, env = process.env) {
  execFileSync(command, args, { cwd, env, stdio: ['ignore', 'ignore', 'pipe'], maxBuffer: 64 * 1024 * 1024 });
}

function lastLines(error) {
  const text = error.stderr?.toString().trim() || error.message;
  return text.split('\n').slice(-3).join('\n  ');
}
