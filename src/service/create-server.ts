/** The HTTP side of the service: its four operations, each a route that answers, and one way out. */
import multipart from '@fastify/multipart';
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import type { Answer } from './http/answer.js';
import { requestToken } from './http/check-token.js';
import { HttpRefusal } from './http/http-refusal.js';
import { parameters } from './http/parameters.js';
import { refusalAnswer } from './http/refusal-answer.js';
import { sendAnswer } from './http/send-answer.js';
import type { Predictor } from './predictors/predictor.js';
import { download } from './routes/download.js';
import { search } from './routes/search.js';
import { track } from './routes/track.js';
import { type UploadContext, upload } from './routes/upload.js';
import type { ServiceLogger } from './service-logger.js';

const BULK_PATH = '/naics/naics/external/upload';
const SEARCH_PATH = '/naics/naics/search/additional/';

export interface ServerContext extends UploadContext {
  readonly predictor: Predictor;
  readonly logger: ServiceLogger | undefined;
}

/** Not yet listening. Closing it cuts the connections that are open. */
export async function createServer(context: ServerContext): Promise<FastifyInstance> {
  const app = fastify({ forceCloseConnections: true });
  await app.register(multipart, { throwFileSizeLimit: false }); // 413 is told by receiveUpload

  app.setErrorHandler((error, _request, reply) => {
    const refusal = refusalAnswer(error);
    if (refusal.status >= 500) context.logger?.error({ err: error }, 'unexpected error');
    return sendAnswer(reply, refusal);
  });
  app.setNotFoundHandler(() => {
    throw new HttpRefusal(404, 'the service has no such operation');
  });

  app.post(
    BULK_PATH,
    answering((request) => upload(request, context)),
  );
  app.get(
    `${BULK_PATH}/file/info`,
    answering((request) => {
      context.checkToken(requestToken(request));
      return track(request, context.store);
    }),
  );
  app.get(
    `${BULK_PATH}/file/download`,
    answering((request) => {
      context.checkToken(requestToken(request));
      return download(request, context.store);
    }),
  );
  app.post(
    SEARCH_PATH,
    answering((request) => {
      context.checkToken(parameters(request.body).token);
      return search(request, context.predictor);
    }),
  );
  return app;
}

function answering(operation: (request: FastifyRequest) => Answer | Promise<Answer>) {
  return async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> =>
    sendAnswer(reply, await operation(request));
}
