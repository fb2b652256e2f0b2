/** An HTTP endpoint: POST a CSV to /NAME, and the answer is the same CSV with its predictions, as they come. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { type Config, enrichedBytes, FoliopipeError, hintOf, openRun, type RunOptions } from 'foliopipe';

/**
 * @param configOf the config for a name: a pipeline of its own, so that names do not wait for each other.
 * @param options such as a logger.
 */
export function createEndpoint(configOf: (name: string) => Config, options: RunOptions = {}): Server {
  return createServer((request, response) => {
    const name = /^\/([a-z0-9]+)$/.exec(request.url ?? '')?.[1];
    if (request.method !== 'POST' || name === undefined) {
      response.writeHead(404).end();
      return;
    }
    answer(request, response, configOf(name), options).catch((error: unknown) => refuse(response, error));
  });
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  config: Config,
  options: RunOptions,
): Promise<void> {
  const left = new AbortController();
  response.once('close', () => left.abort(new Error('the client has gone')));
  {
    // Checks the whole CSV before anything is paid. The same one goes on with a run that was left.
    await using run = await openRun(config, { ...options, records: request, signal: left.signal });
    response.setHeader('content-type', 'text/csv; charset=utf-8');
    await pipeline(Readable.from(enrichedBytes(run)), response, { end: false });
    await run.confirm();
  }
  // The client gets the end of its answer only when the run is done and closed.
  response.end();
}

/** After the first row there is no status to send: the connection is cut, so that half an answer never looks whole. */
function refuse(response: ServerResponse, error: unknown): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  const known = error instanceof FoliopipeError ? error : undefined;
  const status = known?.exitCode === 4 ? 422 : known?.exitCode === 11 ? 409 : 503;
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ code: known?.code, message: known?.message, hint: known && hintOf(known) }));
}
