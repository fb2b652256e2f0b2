/** Which file systems count as network ones. */
import { describe, expect, it } from 'vitest';
import {
  networkFileSystem,
  refuseNetworkFolder,
} from '../../../src/checkpoint/sqlite/refuse-network-folder.js';
import { withFolder } from '../../helpers/folders/folders.js';

describe('networkFileSystem', () => {
  it.each([
    [0x6969, 'NFS'],
    [0xff534d42, 'CIFS'],
    // As a signed 32-bit number, which some kernels give.
    [0xff534d42 | 0, 'CIFS'],
    [0xfe534d42, 'SMB2'],
    [0x01021997, '9P'],
  ])('knows %i as %s', (type, name) => {
    expect(networkFileSystem(type)).toBe(name);
  });

  it.each([
    ['ext4', 0xef53],
    ['xfs', 0x58465342],
    ['btrfs', 0x9123683e],
    ['tmpfs', 0x01021994],
    ['overlayfs', 0x794c7630],
  ])('takes %s for local', (_name, type) => {
    expect(networkFileSystem(type)).toBeUndefined();
  });
});

describe('refuseNetworkFolder', () => {
  it('lets a local folder pass', () => withFolder((folder) => refuseNetworkFolder(folder)));
});
