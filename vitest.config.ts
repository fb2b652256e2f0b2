import { defineConfig } from 'vitest/config';

/** So that examples name the package as its users do. */
const source = (path: string) => new URL(path, import.meta.url).pathname;

/**
 * The collector's helper threads cost a quarter of the CPU, and the other worker needs it. From a small heap on, it would
 * collect after each few buffers of a job, which costs as much again.
 */
const execArgv = ['--single-threaded-gc', '--initial-old-space-size=512'];
// Most code of a test runs too seldom for what its optimizing costs, so that waits for 15 times as much work as usual.
// Later versions of Node do not know the option.
if (process.versions.node.startsWith('20.')) execArgv.push('--interrupt-budget=1000000');

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
    // A busy machine may stop a process for longer than the default second.
    expect: { poll: { interval: 20, timeout: 40_000 } },
    // CI's machine is shared: a test that fails there runs once more, and the log names it with "retry x1". It still is a
    // test to mend. What a property test has found fails at once: other random values would hide it.
    retry: process.env.CI === undefined ? 0 : { count: 1, condition: /^(?!Property failed)/ },
    pool: 'forks',
    maxWorkers: 3,
    globalSetup: 'test/helpers/folders/shared-memory.ts',
    // A worker loads the sources and their dependencies once, not anew for each test file.
    isolate: false,
    // What Vite has made of the sources is kept from run to run: a run of few files starts two seconds earlier.
    experimental: { fsModuleCache: true },
    execArgv,
  },
});
