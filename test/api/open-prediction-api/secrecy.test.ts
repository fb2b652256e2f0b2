/** Rule "The service is not trusted": the token appears in no error and no log, whatever the service echoes. */
import { buffer as collect } from 'node:stream/consumers';
import { inspect } from 'node:util';
import { expect, test } from 'vitest';
import { TroubleError } from '../../../src/errors.js';
import { cut, openScriptedServer, type Script, sendJson } from '../../fake-service/scripted-server.js';
import { errorOf, noSignal, openTestClient, TOKEN, uploadFile } from '../../helpers/api/test-client.js';

const ECHO = `?token=${encodeURIComponent(TOKEN)}&${new URLSearchParams({ token: TOKEN })} ${TOKEN}`;
const answers: [string, Script][] = [
  ['a cut', (response) => cut(response)],
  ['a page that echoes', (response) => response.writeHead(500).end(`<p>${ECHO}</p>`)],
  ['a message that echoes', (response) => sendJson(response, { message: ECHO }, 400)],
  ['a refusal that echoes', (response) => sendJson(response, { error: ECHO }, 401)],
  ['an unknown folio', (response) => sendJson(response, { message: ECHO }, 404)],
  [
    'a redirect that repeats the query',
    (response, request) => {
      response.writeHead(302, { location: `/login?next=${request.path}${ECHO.slice(0, 40)}` }).end();
    },
  ],
  [
    'a redirect to a host of that name',
    (response) => {
      response.writeHead(302, { location: `https://${encodeURIComponent(TOKEN)}/` }).end();
    },
  ],
  ['a success that echoes', (response) => response.end(ECHO)],
  ['JSON that echoes', (response) => sendJson(response, { [TOKEN]: TOKEN, response: TOKEN })],
  ['a header that is no HTTP', (response) => response.socket?.end(`HTTP/1.1 ${TOKEN}\r\n${ECHO}\r\n\r\n`)],
  ['a throttle that echoes', (response) => sendJson(response, { message: ECHO }, 429)],
  ['a silent service', () => undefined],
];

test.each(answers)('%s', async (_name, answer) => {
  const server = await openScriptedServer(answer);
  const client = openTestClient(server.url, {
    timeouts: { connect: 500, idle: 60, upload: 60, shutdown: 0 },
    retry: { first: 1, max: 2, giveUpAfter: 30 },
  });
  const upload = { file: uploadFile('chunk.csv', 'a\n1\n'), description: '' };
  const part = { folio: 'F', part: 0, fileStatus: 'SUCCESSFUL' as const, maxBytes: 1000 };
  const calls = [
    client.upload(upload, noSignal),
    client.track('F', noSignal),
    client.download(part, collect, noSignal),
    client.search({ name: 'x' }, noSignal).then((value) => {
      throw new TroubleError('ANSWERED', typeof value);
    }),
  ];
  const errors = await Promise.all(calls.map(errorOf));
  await client.close();
  await server.close();
  const shown = inspect([errors, client.log], { depth: 20, showHidden: true, maxStringLength: null });
  for (const secret of [
    TOKEN,
    encodeURIComponent(TOKEN),
    new URLSearchParams({ TOKEN }).toString().slice(6),
  ]) {
    expect(shown).not.toContain(secret);
  }
});
