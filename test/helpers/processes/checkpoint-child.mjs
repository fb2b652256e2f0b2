/**
 * A process for tests to kill. `lock <stateDir> <pipeline>` takes the lock and holds it; `write <stateDir> <run>
 * <chunks>` records a run and its chunks. It prints a line when it is ready and runs until it is killed. A line on
 * its stdin forces a garbage collection (under --expose-gc) and is answered by a line. It runs the built files.
 */
import { createInterface } from 'node:readline';
import { openSqliteCheckpoint } from '../../../dist/src/checkpoint/sqlite/open-sqlite-checkpoint.js';
import { createFileLock } from '../../../dist/src/checkpoint/sqlite/pipeline-lock.js';

const [task, stateDir, name, chunks] = process.argv.slice(2);
if (task === 'lock') {
  try {
    const holder = { pid: process.pid, command: 'foliopipe run', since: 0 };
    await createFileLock(stateDir).take(name, holder);
  } catch (error) {
    process.stdout.write(`${error.code}\n`);
    process.exit(error.exitCode);
  }
} else {
  const checkpoint = await openSqliteCheckpoint(stateDir);
  const source = { files: [], columns: ['name'], records: 1, rejected: 0, sha256: 'aa' };
  const run = {
    id: name,
    pipeline: name,
    service: 's',
    label: null,
    source,
    frozen: {},
    canary: 0,
    createdAt: 1,
  };
  await checkpoint.recordRun(run);
  for (let number = 1; number <= Number(chunks); number++) {
    const place = { file: 0, offset: 0 };
    const records = { firstRecord: number, lastRecord: number, records: 1 };
    await checkpoint.recordCut(name, {
      ...records,
      start: place,
      end: place,
      bytes: 1,
      sha256: 'bb',
      picked: null,
    });
  }
}
process.stdout.write('ready\n');
for await (const _line of createInterface({ input: process.stdin })) {
  globalThis.gc();
  process.stdout.write('collected\n');
}
