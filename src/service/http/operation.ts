/** The four operations of the interface (section 4), and the handlers of their routes. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ForcedFailures } from '../store/folio.js';
import type { FolioReader } from '../store/folio-store.js';
import type { Answer } from './answer.js';

/** Their names, as fault rules use them. */
export const OPERATIONS = ['upload', 'track', 'download', 'search'] as const;

/** One of the four operations of the service. */
export type Operation = (typeof OPERATIONS)[number];

/** Carries out an operation. @throws HttpRefusal when it refuses the request. */
export type Operate = (
  request: FastifyRequest,
  folios: FolioReader,
  checkUpload: CheckUpload,
) => Answer | Promise<Answer>;

/**
 * The last check of a well-formed upload, before it gets a folio.
 * @returns which of its records must fail. @throws when the file is refused; then the file is removed.
 */
export type CheckUpload = (file: {
  readonly path: string;
  readonly records: number;
}) => Promise<ForcedFailures>;

/** Makes the handler of a route from its operation. */
export type CreateHandler = (
  operation: Operation,
  operate: Operate,
) => (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>;

/** Accepts every file; only the predictor decides which records fail. */
export const acceptUpload: CheckUpload = async () => ({ failShare: 0, failSeed: 0 });
