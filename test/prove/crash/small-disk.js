/** A disk that can really be full: a small tmpfs, in a mount namespace that ends with this process. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const marker = 'FOLIOPIPE_PROVE_MAY_MOUNT';

/** Options of `unshare`: for any user where user namespaces are allowed, and for root. */
const ways = [['-r', '-m'], ['-m']];

/** Starts this script again in a namespace of its own, once, and ends with its exit code. */
export function enterNamespace() {
  if (process.env[marker] !== undefined) return;
  const way = ways.find(canMount);
  if (way === undefined) {
    throw new Error(
      'no file system can be mounted here: a full disk cannot be proven. Neither `unshare -rm` (user namespaces) ' +
        'nor `unshare -m` (root with CAP_SYS_ADMIN) lets mount work; try elsewhere, or --how kill,term,hup',
    );
  }
  const again = [...way, process.execPath, ...process.argv.slice(1)];
  const { status } = spawnSync('unshare', again, {
    stdio: 'inherit',
    env: { ...process.env, [marker]: '1' },
  });
  process.exit(status ?? 1);
}

function canMount(way) {
  const folder = mkdtempSync(join(tmpdir(), 'foliopipe-mount-'));
  try {
    return spawnSync('unshare', [...way, 'mount', ...tmpfs, folder]).status === 0;
  } finally {
    rmdirSync(folder);
  }
}

const tmpfs = ['-t', 'tmpfs', '-o', 'size=4m,mode=700', 'foliopipe'];

/** Makes a folder a small file system of its own. @returns a function that unmounts it. */
export function mountSmallDisk(folder) {
  expectSuccess(spawnSync('mount', [...tmpfs, folder]));
  return () => expectSuccess(spawnSync('umount', [folder]));
}

/** Lets a file grow until nothing more can be written. */
export function fillDisk(file) {
  const { status, stderr } = spawnSync(
    'dd',
    ['if=/dev/zero', `of=${file}`, 'bs=4096', 'oflag=append', 'conv=notrunc'],
    { env: { ...process.env, LC_ALL: 'C' } },
  );
  if (status !== 1 || !/No space left/.test(String(stderr))) throw new Error(`not full: ${stderr}`);
}

function expectSuccess({ status, stderr, error }) {
  if (status !== 0) throw error ?? new Error(String(stderr));
}
