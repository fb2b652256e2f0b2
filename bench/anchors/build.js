/**
 * Builds the programs that the case `anchors` compares with, into bench/anchors/built. If one cannot be built, says what
 * it needs and goes on with the others. `node bench/anchors/build.js`
 *
 * zsv and simdutf are not built here: install them, zsv as the command `zsv` and simdutf as a library with its headers
 * (SIMDUTF may name the folder that holds its include/ and lib/). On Debian the rest comes from the packages cargo,
 * librust-csv-dev, librust-flate2-dev, g++ and openssl.
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
  decode: {
    needs:
      'g++ and the library simdutf with its headers; SIMDUTF may name the folder that it is installed in',
    build: () => {
      const folder = process.env.SIMDUTF;
      const paths =
        folder === undefined ? [] : [`-I${folder}/include`, `-L${folder}/lib`, `-Wl,-rpath,${folder}/lib`];
      const output = ['-o', join(built, 'decode')];
      run('g++', ['-O3', '-std=c++17', ...paths, join(here, 'decode.cpp'), '-lsimdutf', ...output], built);
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

function run(command, args, cwd) {
  execFileSync(command, args, { cwd, stdio: ['ignore', 'ignore', 'pipe'], maxBuffer: 64 * 1024 * 1024 });
}

function lastLines(error) {
  const text = error.stderr?.toString().trim() || error.message;
  return text.split('\n').slice(-3).join('\n  ');
}
