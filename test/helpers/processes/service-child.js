/** Runs the local service from its TypeScript source and prints its URL; tests kill this process. */
import { createViteServer } from 'vitest/node';

const vite = await createViteServer({
  configFile: false,
  server: { middlewareMode: true, ws: false, watch: null },
  appType: 'custom',
  logLevel: 'error',
  optimizeDeps: { noDiscovery: true },
});
const { openService } = await vite.ssrLoadModule('/src/service/open-service.ts');
const { baseUrl } = await openService(JSON.parse(process.argv[2]));
process.stdout.write(`${baseUrl}\n`);
