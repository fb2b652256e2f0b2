/** The fast scanner, whatever limit its caller has for a record. */
import { describe, expect, it } from 'vitest';
import { ScanKernel } from '../../../src/csv/kernel/scan-kernel.js';

const TEXT = Buffer.from('1,a\n2,b\n');

function scanned(maxRecordBytes: number) {
  const kernel = new ScanKernel({ delimiter: 44, fields: 2, maxRecordBytes }, TEXT.length);
  kernel.window.set(TEXT);
  kernel.run(0, TEXT.length);
  const { count, isDoubtful } = kernel;
  kernel.release();
  return { count, isDoubtful };
}

describe('the fast scanner', () => {
  it('finds records without a limit on their bytes', () => {
    expect(scanned(Number.MAX_SAFE_INTEGER)).toEqual({ count: 2, isDoubtful: false });
  });

  it('leaves a record above the limit to the careful scan', () => {
    expect(scanned(2)).toEqual({ count: 0, isDoubtful: true });
  });
});
