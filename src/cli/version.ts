/** The version in package.json. */
import { createRequire } from 'node:module';

// By the package's own name: the same from the sources and from what is built of them.
const manifest = createRequire(import.meta.url)('foliopipe/package.json') as { version: string };

export const version: string = manifest.version;
