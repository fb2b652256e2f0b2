/** The single-record search: any JSON comes back, and it is paid for. */
import { expect, test } from 'vitest';
import { AmbiguousUploadError, ConfigError, RefusedError } from '../../../src/errors.js';
import { cut, type Script, sendJson } from '../../fake-service/scripted-server.js';
import { useScriptedClient } from '../../helpers/api/scripted-client.js';
import { errorOf, noSignal, openTestClient, TOKEN } from '../../helpers/api/test-client.js';

const scripted = useScriptedClient();
const { open } = scripted;

const search = () => scripted.client.search({ name: 'Ä & Co', state: 'MT', token: 'mine' }, noSignal);

test('sends the token with the record as JSON and returns the reply', async () => {
  await open((response) => sendJson(response, [{ code: '722511' }]));
  expect(await search()).toEqual({ answer: [{ code: '722511' }], rehearsal: false });
  const [request] = scripted.server.seen;
  expect(request).toMatchObject({ method: 'POST', path: '/naics/naics/search/additional/' });
  expect(request!.headers['content-type']).toBe('application/json');
  expect(JSON.parse(request!.body)).toEqual({ name: 'Ä & Co', state: 'MT', token: TOKEN });
});

test.each<[string, Script]>([
  ['cut', (response) => cut(response)],
  ['HTTP 500', (response) => sendJson(response, {}, 500)],
  ['a page', (response) => response.end('<html>')],
  ['what is nested too deeply to be shown', (response) => response.end('['.repeat(9e4) + ']'.repeat(9e4))],
])('%s is ambiguous', async (_name, answer) => {
  await open(answer);
  const error = await errorOf(search());
  expect(error).toBeInstanceOf(AmbiguousUploadError);
  expect(error).toMatchObject({
    code: 'AMBIGUOUS_SEARCH',
    hint: expect.stringContaining('the same command asks again'),
  });
  expect(scripted.server.seen).toHaveLength(1);
});

test('a redirect may have been paid for', async () => {
  await open((response) => response.writeHead(302, { location: '/login' }).end());
  expect(await errorOf(search())).toMatchObject({
    code: 'SERVICE_REDIRECTS',
    exitCode: 7,
    doubt: 'redirected',
    hint: expect.stringContaining('service.legacyBaseUrl'),
  });
  expect(scripted.server.seen).toHaveLength(1);
});

test('HTTP 404 of the service itself says that nothing was found, and that it is not paid', async () => {
  await open((response) => sendJson(response, { message: 'no industry matches the name' }, 404));
  expect(await errorOf(search())).toMatchObject({
    code: 'SEARCH_NO_MATCH',
    exitCode: 7,
    message: 'search: the service finds nothing: HTTP 404: no industry matches the name',
    hint: expect.stringMatching(/^the search counts as not paid\. Try another name/),
    facts: { status: 404 },
  });
});

test('HTTP 404 of a page says that the address is wrong', async () => {
  await open((response) => response.writeHead(404).end('<html>'));
  expect(await errorOf(search())).toMatchObject({
    code: 'SERVICE_REFUSED',
    hint: expect.stringContaining('is service.legacyBaseUrl right?'),
  });
});

test('HTTP 422 is refused', async () => {
  await open((response) => sendJson(response, { error: 'state is missing' }, 422));
  const error = await errorOf(search());
  expect(error).toBeInstanceOf(RefusedError);
  expect((error as Error).message).toContain('state is missing');
});

test('without an address is a config error', async () => {
  await open((response) => sendJson(response, {}));
  const error = await errorOf(
    openTestClient(scripted.server.url, { legacyBaseUrl: null }).search({ name: 'x' }, noSignal),
  );
  expect(error).toBeInstanceOf(ConfigError);
  expect(scripted.server.seen).toHaveLength(0);
});
