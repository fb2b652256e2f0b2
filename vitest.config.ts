import { defineConfig } from 'vitest/config';

/** So that examples name the package as its users do. */
const source = (path: string) => new URL(path, import.meta.url).pathname;

export default defineConfig({
  resolve: {
    alias: [
      { find: /^foliopipe$/, replacement: source('pipelines/index.ts') },
      { find: /^foliopipe\/service$/, replacement: source('src/service.ts') },
    ],
  },
  test: {
    include: ['test/**/*.test.ts'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    pool: 'forks',
    maxWorkers: 3,
    globalSetup: 'test/helpers/folders/shared-memory.ts',
    // A worker loads the sources and their dependencies once, not anew for each test file.
    isolate: false,
    // The collector's helper threads cost a quarter of the CPU, and the other worker needs it.
    execArgv: ['--single-threaded-gc'],
  },
});
