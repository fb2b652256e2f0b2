/** The folio that a request speaks of. */
import type { FastifyRequest } from 'fastify';
import { HttpRefusal } from '../http/http-refusal.js';
import { requiredText } from '../http/parameters.js';
import type { Folio } from '../store/folio.js';
import type { FolioStore } from '../store/folio-store.js';

/** What routes ask of the folios: as they are in the store, or as a service with faults tells of them. */
export type ToldFolios = Pick<FolioStore, 'find' | 'content'>;

/** @throws HttpRefusal 400 without a folio in the query, 404 when it is not known. */
export function findFolio(request: FastifyRequest, folios: ToldFolios): Folio {
  const folio = folios.find(requiredText(request.query, 'folio'));
  if (folio === undefined) throw new HttpRefusal(404, 'the folio is not known');
  return folio;
}
