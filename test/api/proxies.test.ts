import { describe, expect, it } from 'vitest';
import { createProxyChoice } from '../../src/api/http-client.js';
import { ConfigError } from '../../src/errors.js';

const chosen = (url: string, proxies: Parameters<typeof createProxyChoice>[0]) =>
  createProxyChoice(proxies)(new URL(url))?.href;

describe('the proxy of an https:// address', () => {
  it('is HTTPS_PROXY, else HTTP_PROXY, else none', () => {
    const httpsProxy = 'http://first:8080';
    const httpProxy = 'second:3128';
    expect(chosen('https://service.example', { httpsProxy, httpProxy })).toBe('http://first:8080/');
    expect(chosen('https://service.example', { httpProxy })).toBe('http://second:3128/');
    expect(chosen('https://service.example', { httpsProxy: '', httpProxy: '' })).toBeUndefined();
  });

  it.each([
    ['service.example', true],
    ['SERVICE.example', true],
    ['example', true],
    ['.example', true],
    ['*.service.example', true],
    ['other.example, service.example', true],
    ['other.example service.example', true],
    ['service.example:443', true],
    ['*', true],
    ['service.example:8443', false],
    ['vice.example', false],
    ['api.service.example', false],
    ['', false],
  ])('is none where NO_PROXY is "%s": %s', (noProxy, isExempt) => {
    const found = chosen('https://service.example/path', { httpsProxy: 'http://proxy:1', noProxy });
    expect(found === undefined).toBe(isExempt);
  });

  it('is told from its port', () => {
    const noProxy = 'service.example:8443';
    expect(chosen('https://service.example:8443', { httpsProxy: 'http://proxy:1', noProxy })).toBeUndefined();
  });

  it.each(['http://me:pass word@:99999', 'socks5://proxy:1080', 'http://'])(
    'is refused as %s',
    (httpsProxy) => {
      expect(() => createProxyChoice({ httpsProxy })).toThrow(ConfigError);
      expect(() => createProxyChoice({ httpsProxy })).not.toThrow(/pass/);
    },
  );
});
