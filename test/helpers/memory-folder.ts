/** Around all tests: their folders lie in memory where there is room, so that nobody waits for a disk to sync. */
import { mkdtemp, rm, statfs } from 'node:fs/promises';

const SHARED_MEMORY = '/dev/shm';
/** Containers are often given less than the tests could fill. */
const LEAST_BYTES = 1024 ** 3;
let folder: string | undefined;

export async function setup(): Promise<void> {
  const { bavail, bsize } = await statfs(SHARED_MEMORY).catch(() => ({ bavail: 0, bsize: 0 }));
  if (bavail * bsize < LEAST_BYTES) return;
  folder = await mkdtemp(`${SHARED_MEMORY}/foliopipe-`);
  process.env.TMPDIR = folder;
}

export async function teardown(): Promise<void> {
  if (folder !== undefined) await rm(folder, { recursive: true, force: true });
}
