/** The HTTP server of the service: a route for each of the four operations, and one error handler. */
import multipart from '@fastify/multipart';
import type { FastifyInstance } from 'fastify';
import fastify from 'fastify';
import { answerWithFaults } from './faults/answer-with-faults.js';
import type { FaultSession } from './faults/fault-session.js';
import { type Answer, sendAnswer } from './http/answer.js';
import { HttpRefusal, refusalAnswer } from './http/http-refusal.js';
import type { CreateHandler, Operation } from './http/operation.js';
import { parameters, requestToken } from './http/parameters.js';
import type { Predictor } from './predictors/predictor.js';
import { download } from './routes/download.js';
import { search } from './routes/search.js';
import { track } from './routes/track.js';
import { type UploadContext, upload } from './routes/upload.js';
import type { ServiceLogger } from './service-logger.js';
import type { TimeScale } from './time-scale.js';

const BULK_PATH = '/naics/naics/external/upload';
const SEARCH_PATH = '/naics/naics/search/additional/';

/**
 * A request that has not arrived completely by then is answered with 408: a client that stops in the middle must not
 * hold a slot.
 */
const MAX_REQUEST_MS = 15 * 60_000;

export interface ServerContext extends UploadContext {
  readonly predictor: Predictor;
  readonly time: TimeScale;
  /** The faults at this moment; undefined: none. */
  readonly faults: () => FaultSession | undefined;
  /** Called with each call of an operation, when it arrives. */
  readonly onCall: (operation: Operation) => void;
  readonly logger: ServiceLogger | undefined;
}

/** Creates a server that does not listen yet. Closing it closes open connections at once. */
export async function createServer(context: ServerContext): Promise<FastifyInstance> {
  const app = fastify({ forceCloseConnections: true, requestTimeout: MAX_REQUEST_MS });
  // `receiveUpload` answers 413 itself.
  await app.register(multipart, { throwFileSizeLimit: false });

  const closing = new AbortController();
  app.addHook('preClose', async () => closing.abort());
  const refuse = (error: unknown): Answer => {
    const refusal = refusalAnswer(error);
    // Closing also ends what running operations use, so their errors are expected.
    if (refusal.status >= 500 && !closing.signal.aborted) {
      context.logger?.error({ err: error }, `unexpected error: ${error}`);
    }
    return refusal;
  };
  app.setErrorHandler((error, _request, reply) => sendAnswer(reply, refuse(error)));
  app.setNotFoundHandler(() => {
    throw new HttpRefusal(404, 'the service has no such operation');
  });

  const answered = answerWithFaults({ ...context, refuse, closing: closing.signal });
  const handler: CreateHandler = (operation, operate) => {
    const answer = answered(operation, operate);
    return (request, reply) => {
      context.onCall(operation);
      return answer(request, reply);
    };
  };

  app.post(
    BULK_PATH,
    handler('upload', (request, _folios, checkUpload) => upload(request, context, checkUpload)),
  );
  app.get(
    `${BULK_PATH}/file/info`,
    handler('track', (request, folios) => {
      context.checkToken(requestToken(request));
      return track(request, folios);
    }),
  );
  app.get(
    `${BULK_PATH}/file/download`,
    handler('download', (request, folios) => {
      context.checkToken(requestToken(request));
      return download(request, folios);
    }),
  );
  app.post(
    SEARCH_PATH,
    handler('search', (request) => {
      context.checkToken(parameters(request.body).token);
      return search(request, context.predictor);
    }),
  );
  return app;
}
