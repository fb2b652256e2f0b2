/** Compiles the kernel's sources into kernel-code.ts: `npm run build:kernel`. */
import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import asc from 'assemblyscript/asc';

const sources = fileURLToPath(new URL('./assembly/', import.meta.url));

/** The text of kernel-code.ts, compiled from the current sources. */
export async function compileKernel() {
  const files = new Map();
  const { error, stderr } = await asc.main(
    ['index.ts', '--outFile', 'kernel.wasm', '--runtime', 'stub', '--enable', 'simd', '-O3', '--noAssert'],
    {
      readFile: (name) => readFile(`${sources}${name}`, 'utf8').catch(() => null),
      writeFile: (name, content) => void files.set(name, content),
      listFiles: () => [],
    },
  );
  if (error) throw new Error(`${error.message}\n${stderr.toString()}`);
  return codeText(files.get('kernel.wasm'));
}

function codeText(wasm) {
  const lines = Buffer.from(wasm)
    .toString('base64')
    .match(/.{1,96}/g);
  const text = lines.map((line) => `  '${line}',`).join('\n');
  return `/** Made by \`npm run build:kernel\` from assembly/: do not edit. A test compares it with its sources. */\n\nexport const kernelCode = [\n${text}\n].join('');\n`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await writeFile(new URL('./kernel-code.ts', import.meta.url), await compileKernel());
}
