/** Refuses a state folder on a network file system, because SQLite's WAL needs memory shared by all its processes. */
import { statfs } from 'node:fs/promises';
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
]);

/**
 * Names the network file system that a statfs type stands for.
 * @param type `f_type`, a 32-bit number, which is negative on some systems.
 * @returns its name; undefined for a local file system.
 */
export function networkFileSystem(type: number): string | undefined {
  return NETWORK_FILE_SYSTEMS.get(type >>> 0);
}

/**
 * Refuses a folder on a network file system. Checks on Linux only, because the types differ on other systems.
 * @throws ConfigError `STATE_DIR_NETWORK`.
 */
export async function refuseNetworkFolder(folder: string): Promise<void> {
  if (platform() !== 'linux') return;
  const name = networkFileSystem((await statfs(folder)).type);
  if (name === undefined) return;
  throw new ConfigError(
    'STATE_DIR_NETWORK',
    `the state folder ${folder} is on a network file system (${name})`,
    {
      facts: { path: folder, fileSystem: name },
    },
  );
}
