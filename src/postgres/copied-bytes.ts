/**
 * Reads raw bytes from a statement, with COPY. In the rows of a query, the server sends them as hexadecimal text, which
 * has twice the length and takes four times as long.
 */
import type { Client, Query } from 'pg';
import { type Prepared, valuesOf } from './statement.js';

/** The driver's class of a query, which drops the data of a COPY. */
export type QueryClass = new (text: string, done: (error: Error | undefined) => void) => Query;

/** The format of COPY: a signature, flags, and an extension of no bytes; a row: the number of its values, and lengths. */
const HEADER_BYTES = 11 + 4 + 4;
const COUNT_BYTES = 2;
const LENGTH_BYTES = 4;

/**
 * Asks for the only value of the only row of a statement.
 * @returns undefined without a row. @throws the driver's error.
 */
export async function copyBytes(
  client: Client,
  DriverQuery: QueryClass,
  asked: Prepared<{ bytes: Buffer }>,
  values: Readonly<Record<string, string | number>>,
): Promise<Buffer | undefined> {
  const pieces: Buffer[] = [];
  class CopyQuery extends DriverQuery {
    /** Called by the driver, which reuses the memory of the chunk. */
    handleCopyData({ chunk }: { readonly chunk: Buffer }): void {
      pieces.push(Buffer.from(chunk));
    }
  }
  const text = `COPY (${withLiterals(client, asked, values)}) TO STDOUT (FORMAT binary)`;
  await new Promise<void>((resolve, reject) => {
    client.query(new CopyQuery(text, (error) => (error ? reject(error) : resolve())));
  });
  // Servers send the header with the first row, and the end of the data separately.
  const copied = pieces[0]!.length > HEADER_BYTES ? pieces[0]! : Buffer.concat(pieces);
  // After the last row there is -1 in place of the number.
  if (copied.readInt16BE(HEADER_BYTES) === -1) return undefined;
  const lengthAt = HEADER_BYTES + COUNT_BYTES;
  const begin = lengthAt + LENGTH_BYTES;
  return copied.subarray(begin, begin + copied.readInt32BE(lengthAt));
}

/** COPY takes no parameters. */
function withLiterals(
  client: Client,
  asked: Prepared<unknown>,
  values: Readonly<Record<string, string | number>>,
): string {
  const literals = valuesOf(asked, values).map((value) =>
    typeof value === 'number' ? `${value}` : client.escapeLiteral(`${value}`),
  );
  return asked.text.replaceAll(/\$(\d+)/g, (_, number: string) => literals[Number(number) - 1]!);
}
