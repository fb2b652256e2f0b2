/** Finds the folio that a request names. */
import type { FastifyRequest } from 'fastify';
import { HttpRefusal } from '../http/http-refusal.js';
import { requiredText } from '../http/parameters.js';
import type { Folio } from '../store/folio.js';
import type { FolioReader } from '../store/folio-store.js';

/** @throws HttpRefusal 400 without a folio in the query, 404 when it is not known. */
export function findFolio(request: FastifyRequest, folios: FolioReader): Folio {
  const folio = folios.find(requiredText(request.query, 'folio'));
  if (folio === undefined) throw new HttpRefusal(404, 'the folio is not known');
  return folio;
}
