/** Where the operations are, and which addresses are refused. */
import { expect, test } from 'vitest';
import { createServiceAddress } from '../../src/api/requests.js';
import { ConfigError } from '../../src/errors.js';

test.each([
  ['https://api.example', 'https://api.example/naics/naics/external/upload/file/info'],
  ['https://api.example/', 'https://api.example/naics/naics/external/upload/file/info'],
  ['https://api.example:8443/v1//', 'https://api.example:8443/v1/naics/naics/external/upload/file/info'],
  ['http://127.0.0.1:80', 'http://127.0.0.1/naics/naics/external/upload/file/info'],
  ['http://127.8.7.6:9', 'http://127.8.7.6:9/naics/naics/external/upload/file/info'],
  ['http://localhost:9', 'http://localhost:9/naics/naics/external/upload/file/info'],
  ['http://[::1]:9', 'http://[::1]:9/naics/naics/external/upload/file/info'],
])('%s', (baseUrl, expected) => {
  expect(createServiceAddress(baseUrl, 'service.baseUrl')('track').href).toBe(expected);
});

test('the search keeps its last slash', () => {
  const address = createServiceAddress('https://old.example', 'service.legacyBaseUrl');
  expect(address('search').pathname).toBe('/naics/naics/search/additional/');
});

test.each([
  ['http://api.example', 'CONFIG_INSECURE_URL'],
  ['http://127.evil.example', 'CONFIG_INSECURE_URL'],
  ['http://localhost.example', 'CONFIG_INSECURE_URL'],
  ['http://10.0.0.1', 'CONFIG_INSECURE_URL'],
  ['http://[::2]', 'CONFIG_INSECURE_URL'],
  ['ftp://api.example', 'CONFIG_BASE_URL'],
  ['https://me:pw@api.example', 'CONFIG_BASE_URL'],
  ['https://api.example?token=x', 'CONFIG_BASE_URL'],
  ['https://api.example#x', 'CONFIG_BASE_URL'],
  ['api.example', 'CONFIG_BASE_URL'],
])('%s is %s', (baseUrl, code) => {
  const refused = () => createServiceAddress(baseUrl, 'service.baseUrl');
  expect(refused).toThrow(ConfigError);
  expect(refused).toThrow(expect.objectContaining({ code, message: expect.not.stringContaining('pw') }));
});
