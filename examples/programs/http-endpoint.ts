/** An HTTP endpoint: POST a CSV to /NAME, and the answer is the same CSV with its predictions, as they come. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { type Config, enrichedBytes, FoliopipeError, openRun, type RunOptions } from 'foliopipe';

/**
 * @param configOf the config for a name, with a pipeline of its own, so that names do not wait for each other. With
 *   `source.onChange: supersede`, a client that never comes back does not block its name: its run is collected first.
 * @param options such as a logger.
 */
export function createEndpoint(configOf: (name: string) => Config, options: RunOptions = {}): Server {
  return createServer((request, response) => {
    const name = /^\/([a-z0-9]+)$/.exec(request.url ?? '')?.[1];
    if (request.method !== 'POST' || name === undefined) {
      response.writeHead(404).end();
      return;
    }
    answer(request, response, configOf(name), options).catch((error: unknown) =>
      refuse(response, error, options),
    );
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
    // An unread request must stay open, so that the client can be told why.
    const records = request.iterator({ destroyOnReturn: false });
    // Checks the whole CSV before anything is paid. The same CSV continues a run that was left unfinished.
    await using run = await openRun(config, { ...options, records, signal: left.signal });
    response.setHeader('content-type', 'text/csv; charset=utf-8');
    await pipeline(Readable.from(enrichedBytes(run)), response, { end: false });
    await run.confirm();
  }
  // The client gets the end of its answer only when the run is done and closed.
  response.end();
}

/** Codes of a config that the columns of the posted CSV do not fit. */
const THEIRS = new Set(['CONFIG_COLUMN_MISSING', 'CONFIG_COLUMN_TWICE', 'COLUMN_TWICE']);

/** After the first row, no status can be sent: the connection is cut, so that half an answer never looks complete. */
function refuse(response: ServerResponse, error: unknown, { logger }: RunOptions): void {
  logger?.warn({ error: String(error) }, 'a posted CSV is not answered');
  if (response.headersSent) return void response.destroy();
  const known = error instanceof FoliopipeError ? error : undefined;
  const { exitCode = 5, code = 'INTERNAL', facts = {} } = known ?? {};
  const isTheirs = exitCode === 4 || THEIRS.has(code);
  response.writeHead(isTheirs ? 422 : exitCode === 11 ? 409 : 503, { 'content-type': 'application/json' });
  // Messages and hints name paths of this server: they are for its log.
  response.end(JSON.stringify({ code, line: facts.line, record: facts.record, column: facts.column }));
}
