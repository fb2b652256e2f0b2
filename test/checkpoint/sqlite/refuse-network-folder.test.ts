/** Which file systems count as network ones. */
import { describe, expect, it } from 'vitest';
import {
  mountedType,
  networkFileSystem,
  networkFuse,
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

describe('a file system in user space', () => {
  const mounts = [
    '22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw',
    '30 22 0:40 / /mnt/far rw,nosuid - fuse.sshfs me@far:/data rw,user_id=0',
    '31 22 0:41 / /mnt/my\\040bucket rw - fuse.s3fs s3fs rw',
    '32 22 8:17 / /mnt/usb rw - fuseblk /dev/sdb1 rw',
    '33 30 0:43 / /mnt/far/near rw master:1 propagate_from:2 - fuse.mergerfs a:b rw',
    '34 22 0:44 / /mnt/plain rw - fuse someone rw',
    '35 32 0:45 / /mnt/usb rw - fuse.rclone remote: rw',
    '',
  ].join('\n');

  it.each([
    ['/home/me/state', 'ext4'],
    ['/mnt/far', 'fuse.sshfs'],
    ['/mnt/far/a/b', 'fuse.sshfs'],
    ['/mnt/farther', 'ext4'],
    ['/mnt/my bucket/state', 'fuse.s3fs'],
    ['/mnt/far/near/x', 'fuse.mergerfs'],
    ['/mnt/usb', 'fuse.rclone'],
  ])('%s is on %s', (folder, type) => {
    expect(mountedType(mounts, folder)).toBe(type);
  });

  it.each(['sshfs', 's3fs', 'rclone', 'gcsfuse', 'glusterfs', 'ceph-fuse', 'juicefs', 'vmhgfs-fuse'])(
    'fuse.%s counts as a network',
    (subtype) => {
      expect(networkFuse(`30 22 0:40 / /d rw - fuse.${subtype} x rw`, '/d')).toBe(`fuse.${subtype}`);
    },
  );

  it('counts as a network if it does not say what it is, and not if its files are on this machine', () => {
    expect(networkFuse(mounts, '/mnt/plain')).toBe('fuse');
    expect(networkFuse('', '/mnt/plain')).toBe('fuse');
    expect(networkFuse(mounts, '/mnt/far/near')).toBeUndefined();
    expect(networkFuse('30 22 8:1 / /d rw - fuseblk /dev/sdb1 rw', '/d/e')).toBeUndefined();
  });
});

describe('refuseNetworkFolder', () => {
  it('lets a local folder pass', () => withFolder((folder) => refuseNetworkFolder(folder)));
});
