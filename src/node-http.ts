/**
 * Node's HTTP module. An `import` of it reads all that it exports: from Node 22.5 on also `WebSocket`, which loads
 * undici, and takes 14 MB and 25 ms.
 */
import { createRequire } from 'node:module';

export const http = createRequire(import.meta.url)('node:http') as typeof import('node:http');
