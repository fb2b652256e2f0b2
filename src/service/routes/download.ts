/** GET of a part (interface, 4.3), streamed from the store. */
import type { FastifyRequest } from 'fastify';
import type { FileStatus } from '../../types.js';
import type { Answer } from '../http/answer.js';
import { HttpRefusal } from '../http/http-refusal.js';
import { requiredNumber, requiredText } from '../http/parameters.js';
import { ADDED_COLUMNS } from '../predictors/predictor.js';
import type { Folio } from '../store/folio.js';
import type { FolioReader } from '../store/folio-store.js';
import { findFolio, findSegment } from './track.js';

/** @throws HttpRefusal 400; 404 for an unknown folio or part; 409 while the folio is PROCESSING. */
export function download(request: FastifyRequest, folios: FolioReader): Answer {
  const folio = findFolio(request, folios);
  const fileStatus = requiredText(request.query, 'fileStatus');
  if (!isFileStatus(fileStatus)) throw new HttpRefusal(400, 'fileStatus is neither SUCCESSFUL nor FAILED');
  const part = requiredNumber(request.query, 'part');
  if (folio.status === 'PROCESSING') throw new HttpRefusal(409, 'the folio is still being processed');
  const segment = findSegment(folio, fileStatus, part);
  if (segment === undefined) throw new HttpRefusal(404, `the folio has no such ${fileStatus} part`);
  const content = partContent(folio, fileStatus, part, folios);
  const message = `records ${segment.range} of status ${fileStatus}`;
  return { status: 200, body: { content, filename: segment.filename, message } };
}

function* partContent(folio: Folio, fileStatus: FileStatus, part: number, folios: FolioReader) {
  yield Buffer.concat([folio.header, Buffer.from(`,${ADDED_COLUMNS[fileStatus].join()}\n`)]);
  yield* folios.content({ folioId: folio.id, fileStatus, part });
}

export function isFileStatus(text: unknown): text is FileStatus {
  return typeof text === 'string' && Object.hasOwn(ADDED_COLUMNS, text);
}
