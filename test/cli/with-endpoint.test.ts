import { describe, expect, it } from 'vitest';
import { environmentProxies } from '../../src/cli/with-endpoint.js';

describe('environmentProxies', () => {
  it('prefers upper case, and ignores empty variables', () => {
    const env = { HTTPS_PROXY: 'http://a:1', https_proxy: 'http://b:1', HTTP_PROXY: '', http_proxy: 'c:1' };
    expect(environmentProxies(env)).toEqual({ httpsProxy: 'http://a:1', httpProxy: 'c:1' });
    expect(environmentProxies({ no_proxy: 'localhost', NO_PROXY: undefined })).toEqual({
      noProxy: 'localhost',
    });
    expect(environmentProxies({ ALL_PROXY: 'http://a:1' })).toEqual({});
  });
});
