/**
 * Our side of the check before paying: every record's shape, the encoding, the count and the hash.
 * node bench/ours/scan.js SOURCE [ENCODING]
 */
import { scanSource } from '../../dist/src/source/scan-source.js';
import { timed } from '../timed.js';

const [path, encoding = 'auto'] = process.argv.slice(2);
await timed(async () => {
  const { records, sha256 } = await scanSource({
    paths: [path],
    encoding,
    delimiter: 'auto',
    maxRejected: { records: 0 },
    maxRecordBytes: 1024 * 1024,
    signal: new AbortController().signal,
  });
  return { records, sha256 };
});
