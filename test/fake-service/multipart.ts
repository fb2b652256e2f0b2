/** Reads a multipart/form-data body (RFC 7578) for the fake service: fields and one file. */

export interface UploadForm {
  readonly fields: Readonly<Record<string, string>>;
  readonly fileName: string;
  readonly file: Buffer;
}

export function readMultipart(contentType: string, body: Buffer): UploadForm {
  const boundary = /boundary="?([^";]+)"?/.exec(contentType)?.[1];
  if (boundary === undefined) throw new Error(`no boundary in ${contentType}`);
  const fields: Record<string, string> = {};
  let fileName = '';
  let file = Buffer.alloc(0);
  for (const part of split(body, Buffer.from(`--${boundary}`))) {
    const headEnd = part.indexOf('\r\n\r\n');
    if (headEnd < 0) continue;
    const head = part.subarray(0, headEnd).toString('utf8');
    const value = part.subarray(headEnd + 4, part.length - 2);
    const name = /name="([^"]*)"/.exec(head)?.[1] ?? '';
    const givenName = /filename="([^"]*)"/.exec(head)?.[1];
    if (givenName === undefined) {
      fields[name] = value.toString('utf8');
    } else {
      fileName = givenName;
      file = Buffer.from(value);
    }
  }
  return { fields, fileName, file };
}

function split(body: Buffer, separator: Buffer): Buffer[] {
  const pieces: Buffer[] = [];
  let from = 0;
  for (let at = body.indexOf(separator); at >= 0; at = body.indexOf(separator, from)) {
    pieces.push(body.subarray(from, at));
    from = at + separator.length;
  }
  return pieces;
}
