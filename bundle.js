/**
 * Joins what tsc has made into few files: Node takes about a millisecond to find and compile a module, and the
 * command line alone would load some four hundred. Plain JavaScript is taken in; packages with native code, threads
 * or data files of their own stay where npm has put them.
 */
import { copyFileSync, readdirSync, readFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { join } from 'node:path';
import { build } from 'rolldown';

const OUTSIDE = ['@aws-sdk/client-s3', '@duckdb/node-api', 'pg', 'pg-boss', 'pg-copy-streams', 'pino'];

// The modules that tsc has made start it too, such as those that benchmarks load.
copyFileSync('src/duckdb/duckdb-child.js', 'dist/src/duckdb/duckdb-child.js');

await build({
  input: {
    cli: 'dist/src/cli.js',
    index: 'dist/pipelines/index.js',
    service: 'dist/src/service.js',
    'duckdb-child': 'src/duckdb/duckdb-child.js',
  },
  platform: 'node',
  external: (id) => isBuiltin(id) || OUTSIDE.includes(id),
  plugins: [licenses(), inAscii()],
  output: { dir: 'dist/bundle', format: 'esm', chunkFileNames: '[name]-[hash].js', cleanDir: true },
});

/**
 * Writes other characters as escapes: a single one makes V8 hold and read a whole file with two bytes a character. They
 * stand in strings, templates and regular expressions only, where an escape means the same.
 */
function inAscii() {
  const escaped = (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
  return {
    name: 'in-ascii',
    generateBundle(_options, bundle) {
      for (const chunk of Object.values(bundle).filter(({ type }) => type === 'chunk')) {
        if (/\\[^\0-\x7f]/.test(chunk.code))
          this.error(`${chunk.fileName}: a backslash before such a character`);
        chunk.code = chunk.code.replace(/[^\0-\x7f]/g, escaped);
      }
    },
  };
}

/** Every licence of what is taken in, in a file beside it: they ask for that. */
function licenses() {
  return {
    name: 'licenses',
    generateBundle(_options, bundle) {
      const modules = Object.values(bundle).flatMap((chunk) => Object.keys(chunk.modules ?? {}));
      const folders = modules.flatMap((id) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(id)?.[0] ?? []);
      const texts = [...new Set(folders)].sort().map((folder) => {
        const { name, version, license, author } = JSON.parse(
          readFileSync(join(folder, 'package.json'), 'utf8'),
        );
        const file = readdirSync(folder).find((each) => /^licen[cs]e/i.test(each));
        if (file !== undefined)
          return `${name} ${version}\n\n${readFileSync(join(folder, file), 'utf8').trim()}\n`;
        if (license !== 'MIT') this.error(`${name} has no licence to take along`);
        // Its package holds no text of the licence, only its name.
        return `${name} ${version}\n\nMIT License, ${author.name ?? author}\n`;
      });
      this.emitFile({ type: 'asset', fileName: 'LICENSES.txt', source: texts.join('\n---\n\n') });
    },
  };
}
