import { expect, test } from 'vitest';
import { parseConfig } from '../../src/config/load-config.js';
import { openApi, serviceIdentity } from '../../src/run/configured-service.js';
import { minimalWith } from '../helpers/config/minimal-config.js';

const identityOf = (service: object) =>
  serviceIdentity(parseConfig(minimalWith({ service, stateDir: '/state' }), '/base'));

const baseUrl = 'https://predict.example';

test('a service is known by its name, or else by its address', () => {
  expect(identityOf({ baseUrl, token: 't' })).toBe(baseUrl);
  expect(identityOf({ name: 'predictions', baseUrl, token: 't' })).toBe('predictions');
});

test('the embedded service never has the identity of a real one', () => {
  expect(identityOf({ embedded: true })).toBe('embedded:/state/service');
  expect(identityOf({ name: 'predictions', embedded: true })).toBe('embedded:predictions');
});

test('work that seldom asks the service needs no endpoint of an embedded one before it asks', async () => {
  const config = parseConfig(minimalWith({ service: { embedded: true }, stateDir: '/state' }), '/base');
  expect(() => openApi(config, {})).toThrow('service.embedded');
  const api = openApi(config, { isServiceSpare: true });
  await expect(api.track('F1', new AbortController().signal)).rejects.toMatchObject({
    code: 'SERVICE_NOT_STARTED',
  });
  await api.close();
});
