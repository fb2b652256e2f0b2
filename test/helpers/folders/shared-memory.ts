/** Global setup of all tests: puts their folders into memory if there is room for this user, because syncing a disk is slow. */
import { chmod, mkdtemp, rm, statfs } from 'node:fs/promises';

const SHARED_MEMORY = '/dev/shm';
/** Containers often have less than the tests need. */
const LEAST_BYTES = 1024 ** 3;
let folder: string | undefined;

export async function setup(): Promise<void> {
  const { bavail, bsize } = await statfs(SHARED_MEMORY).catch(() => ({ bavail: 0, bsize: 0 }));
  if (bavail * bsize < LEAST_BYTES) return;
  folder = await mkdtemp(`${SHARED_MEMORY}/foliopipe-`).catch(() => undefined);
  if (folder === undefined) return;
  // If this user is root, a database server runs as another user, who must be able to reach its folder.
  await chmod(folder, 0o711);
  process.env.TMPDIR = folder;
}

export async function teardown(): Promise<void> {
  // A database server may still be writing its last files, hence the retries.
  if (folder !== undefined) await rm(folder, { recursive: true, force: true, maxRetries: 5 });
}
