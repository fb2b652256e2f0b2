/** Refuses a state folder on a network file system, because SQLite's WAL needs memory shared by all its processes. */
import { readFile, realpath, statfs } from 'node:fs/promises';
import { platform } from 'node:os';
import { ConfigError } from '../../errors.js';

/** Magic numbers of statfs(2) on Linux, as in linux/magic.h and the file systems' own headers. */
const NETWORK_FILE_SYSTEMS: ReadonlyMap<number, string> = new Map([
  [0x6969, 'NFS'],
  [0x517b, 'SMB'],
  [0xff534d42, 'CIFS'],
  [0xfe534d42, 'SMB2'],
  [0x5346414f, 'AFS'],
  [0x6b414653, 'AFS'],
  [0x73757245, 'Coda'],
  [0x564c, 'NCP'],
  [0x01021997, '9P'],
  [0x00c36400, 'Ceph'],
  [0x0bd00bd0, 'Lustre'],
  [0x47504653, 'GPFS'],
  [0x19830326, 'BeeGFS'],
  [0x20030528, 'OrangeFS'],
  [0x01161970, 'GFS2'],
  [0x7461636f, 'OCFS2'],
  [0x786f4256, 'a shared folder of VirtualBox'],
]);

/** One number for all file systems in user space, local ones and networks: the list of mounts distinguishes them. */
const FUSE = 0x65735546;

/**
 * File systems in user space that keep their files on this machine. Any other counts as a network, because most new
 * ones are networks (sshfs, s3fs, rclone, gcsfuse, glusterfs, ...) and the damage would be silent.
 */
const LOCAL_FUSE: ReadonlySet<string> = new Set(
  `fuseblk fuse.bindfs fuse.ciopfs fuse.cryfs fuse.encfs fuse.exfat fuse.ext4 fuse.fuse2fs fuse.fuse-overlayfs
    fuse.gocryptfs fuse.lklfuse fuse.mergerfs fuse.ntfs fuse.ntfs-3g fuse.securefs fuse.unionfs fuse.unionfs-fuse
    fuse.veracrypt fuse.zfs-fuse`.split(/\s+/),
);

/**
 * Names the network file system that a statfs type stands for.
 * @param type `f_type`, a 32-bit number, which is negative on some systems.
 * @returns its name; undefined for a local file system.
 */
export function networkFileSystem(type: number): string | undefined {
  return NETWORK_FILE_SYSTEMS.get(type >>> 0);
}

/**
 * The type of the file system that holds a folder, such as `ext4` or `fuse.sshfs`.
 * @param mounts the text of `/proc/self/mountinfo` (proc(5)).
 * @param folder a real path.
 * @returns undefined if the list does not say.
 */
export function mountedType(mounts: string, folder: string): string | undefined {
  let found: { readonly length: number; readonly type: string | undefined } | undefined;
  for (const line of mounts.split('\n')) {
    const [before = '', after = ''] = line.split(' - ');
    const point = before.split(' ')[4]?.replace(/\\([0-7]{3})/g, (_, octal: string) => byteOf(octal));
    if (point === undefined || !isWithin(folder, point)) continue;
    // A later mount hides an earlier one at the same place.
    if (found === undefined || point.length >= found.length) {
      found = { length: point.length, type: after.split(' ')[0] };
    }
  }
  return found?.type;
}

/** White space and backslashes in a path are written as octal numbers. */
function byteOf(octal: string): string {
  return String.fromCharCode(Number.parseInt(octal, 8));
}

function isWithin(folder: string, point: string): boolean {
  return point === '/' || folder === point || folder.startsWith(`${point}/`);
}

/** @returns the type of a file system in user space that may be a network; undefined for a local one. */
export function networkFuse(mounts: string, folder: string): string | undefined {
  const type = mountedType(mounts, folder) ?? 'fuse';
  return LOCAL_FUSE.has(type) ? undefined : type;
}

/**
 * Refuses a folder on a network file system. Checks on Linux only, because the types differ on other systems.
 * @throws ConfigError `STATE_DIR_NETWORK`.
 */
export async function refuseNetworkFolder(folder: string): Promise<void> {
  if (platform() !== 'linux') return;
  const { type } = await statfs(folder);
  const name = type >>> 0 === FUSE ? await fuseOf(folder) : networkFileSystem(type);
  if (name === undefined) return;
  throw new ConfigError(
    'STATE_DIR_NETWORK',
    `the state folder ${folder} is on a network file system (${name})`,
    {
      facts: { path: folder, fileSystem: name },
    },
  );
}

async function fuseOf(folder: string): Promise<string | undefined> {
  const mounts = await readFile('/proc/self/mountinfo', 'utf8').catch(() => '');
  return networkFuse(mounts, await realpath(folder));
}
