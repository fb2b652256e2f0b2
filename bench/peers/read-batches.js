/** The records of a CSV file by csv-parse, in arrays of some thousands; read in the fastest way that it has. */
import { once } from 'node:events';
import { createReadStream } from 'node:fs';
import { createGunzip } from 'node:zlib';
import { parse } from 'csv-parse';

/** Every field is a string in an array: objects would cost more. The header is left out. */
export async function* readBatches(path, size) {
  const parser = parse({ bom: true, from_line: 2 });
  const file = createReadStream(path);
  file.on('error', (error) => parser.destroy(error));
  if (path.endsWith('.gz')) file.pipe(createGunzip()).pipe(parser);
  else file.pipe(parser);
  const ending = once(parser, 'end');
  let batch = [];
  for (;;) {
    const record = parser.read();
    if (record === null) {
      if (parser.readableEnded) break;
      await Promise.race([once(parser, 'readable'), ending]);
      continue;
    }
    batch.push(record);
    if (batch.length < size) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}
