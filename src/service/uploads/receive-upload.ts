/**
 * Reads the multipart body of an upload: the fields, then one file, which it streams to the disk. Then checks the file
 * before it is accepted: the header, the shape of every record, and the number of records.
 */
import { createWriteStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import type { MultipartFile, MultipartValue } from '@fastify/multipart';
import type { FastifyRequest } from 'fastify';
import { UTF8_BOM } from '../../csv/bytes.js';
import { readHeader } from '../../csv/read-header.js';
import { SourceError } from '../../errors.js';
import { readBeginning } from '../../streams/read-pieces.js';
import type { Bytes } from '../../types.js';
import { HttpRefusal } from '../http/http-refusal.js';
import { ADDED_COLUMNS } from '../predictors/predictor.js';
import { readUpload, uploadLayout } from './read-upload.js';

interface ReceivedUpload {
  readonly fileName: string;
  readonly description: string;
}

interface ReceiveOptions {
  readonly maxUploadBytes: Bytes;
  /** Path of the file to write. Its bytes are on disk when `receiveUpload` returns. */
  readonly path: string;
  /** Called when the file begins, with the token field if there was one. Throws to refuse the upload. */
  readonly admit: (fieldToken: unknown) => void;
}

/** More than any field of the interface needs. */
const MAX_FIELD_BYTES: Bytes = 64 * 1024;

/** @throws HttpRefusal 400 without a file or for a malformed form, 413 when it is too large, or what `admit` throws. */
export async function receiveUpload(
  request: FastifyRequest,
  options: ReceiveOptions,
): Promise<ReceivedUpload> {
  try {
    return await readForm(request, options);
  } catch (error) {
    throw isOwn(error)
      ? error
      : new HttpRefusal(400, `the form is malformed: ${(error as Error).message}`, { cause: error });
  }
}

/** Errors of the service, of the framework and of the disk have their own answers; any other is about the form that was sent. */
function isOwn(error: unknown): boolean {
  return !(error instanceof Error) || ['status', 'statusCode', 'syscall'].some((key) => key in error);
}

async function readForm(request: FastifyRequest, options: ReceiveOptions): Promise<ReceivedUpload> {
  const limits = {
    fileSize: options.maxUploadBytes,
    fieldSize: MAX_FIELD_BYTES,
    files: 1,
    fields: 20,
    parts: 21,
  };
  const fields: Record<string, unknown> = {};
  let fileName: string | undefined;
  for await (const part of request.parts({ limits })) {
    if (part.type === 'field') {
      addField(fields, part);
    } else {
      await receiveFile(part, fields.token, options);
      fileName = part.filename;
    }
  }
  if (fileName === undefined) {
    options.admit(fields.token);
    throw new HttpRefusal(400, 'file is missing');
  }
  const { description } = fields;
  return { fileName, description: typeof description === 'string' ? description : '' };
}

function addField(
  fields: Record<string, unknown>,
  { fieldname, value, valueTruncated }: MultipartValue,
): void {
  if (Object.hasOwn(fields, fieldname)) throw new HttpRefusal(400, `the form has ${fieldname} twice`);
  if (valueTruncated) throw new HttpRefusal(413, `${fieldname} is larger than ${MAX_FIELD_BYTES} bytes`);
  fields[fieldname] = value;
}

async function receiveFile(part: MultipartFile, token: unknown, options: ReceiveOptions): Promise<void> {
  try {
    options.admit(token);
    if (part.fieldname !== 'file') throw new HttpRefusal(400, `unexpected file field ${part.fieldname}`);
    if (part.filename === '') throw new HttpRefusal(400, 'the file has no name');
  } catch (error) {
    part.file.resume(); // Drops the rest of the body, because most clients read the reply only after sending all of it.
    throw error;
  }
  await pipeline(part.file, createWriteStream(options.path, { mode: 0o600, flags: 'wx', flush: true }));
  if (part.file.truncated) {
    throw new HttpRefusal(413, `the file is larger than ${options.maxUploadBytes} bytes`);
  }
}

const MAX_HEADER_BYTES = 64 * 1024;

interface InspectedUpload {
  /** The header record's bytes, without BOM and line end. */
  readonly header: Buffer;
  /** Offset of the first record. */
  readonly offset: Bytes;
  readonly records: number;
}

/** @throws HttpRefusal 400 with the reason when the file cannot be predicted. */
export async function inspectUpload(path: string): Promise<InspectedUpload> {
  const beginning = await readBeginning(path, MAX_HEADER_BYTES);
  const bom = beginning.subarray(0, UTF8_BOM.length).equals(UTF8_BOM) ? UTF8_BOM.length : 0;
  const { columns, bytes } = parseHeader(beginning.subarray(bom));
  const { fields, name } = uploadLayout(columns);
  if (name < 0) throw new HttpRefusal(400, 'the file has no column called name');
  const added = Object.values(ADDED_COLUMNS).flat();
  const taken = columns.find((column) => added.includes(column));
  if (taken !== undefined) {
    throw new HttpRefusal(400, `the answers have a column "${taken}" too: send this one under another name`);
  }
  const offset = bom + bytes;
  const records = await countRecords(path, offset, fields);
  if (records === 0) throw new HttpRefusal(400, 'the file has a header but no records');
  return { header: withoutLineEnds(beginning.subarray(bom, offset)), offset, records };
}

function parseHeader(beginning: Buffer): ReturnType<typeof readHeader> {
  if (beginning.length === 0) throw new HttpRefusal(400, 'the file is empty');
  try {
    return readHeader(beginning, ',');
  } catch (error) {
    if (!(error instanceof SourceError)) throw error;
    throw new HttpRefusal(400, `the header is malformed: ${error.message}`, { cause: error });
  }
}

async function countRecords(path: string, offset: Bytes, fields: number): Promise<number> {
  let records = 0;
  for await (const batch of readUpload(path, { fields, offset, record: 1 })) records += batch.count;
  return records;
}

/** Removes the line end, and empty lines before the header. */
function withoutLineEnds(header: Buffer): Buffer {
  return Buffer.from(header.toString('latin1').replace(/^[\r\n]+|[\r\n]+$/g, ''), 'latin1');
}
