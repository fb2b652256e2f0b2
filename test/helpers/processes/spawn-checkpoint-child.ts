/** Starts `checkpoint-child.mjs` and kills it with SIGKILL. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const script = fileURLToPath(new URL('./checkpoint-child.mjs', import.meta.url));

export interface CheckpointChild {
  readonly pid: number;
  /** Forces a garbage collection in the child. */
  collect(): Promise<void>;
  /** SIGKILL; resolves when the process is gone. */
  kill(): Promise<void>;
}

/** Resolves when the child has done its task. */
export async function spawnCheckpointChild(...task: string[]): Promise<CheckpointChild> {
  const child = spawn(process.execPath, ['--expose-gc', script, ...task], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const expectLine = async (expected: string) => {
    const { value } = await lines.next();
    if (value !== expected) throw new Error(`the child said ${value} instead of ${expected}`);
  };
  await expectLine('ready');
  return {
    pid: child.pid!,
    async collect() {
      child.stdin.write('\n');
      await expectLine('collected');
    },
    async kill() {
      child.kill('SIGKILL');
      await exited;
    },
  };
}
