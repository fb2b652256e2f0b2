/** Files that only grow. */
import { openSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { AppendFile } from '../../src/reuse/append-file.js';
import { withFolder } from '../helpers/folders/folders.js';

it('that cannot be written is closed without an error: what is given up must not hide why', () =>
  withFolder(async (folder) => {
    const path = join(folder, 'file');
    writeFileSync(path, '');
    const file = new AppendFile(openSync(path, 'r'));
    expect(file.append(Buffer.from('some'))).toBe(0);
    expect(file.isClosed).toBe(false);
    expect(() => file.fd).toThrow('EBADF');
    file.close();
    expect(file.isClosed).toBe(true);
    file.close();
  }));
