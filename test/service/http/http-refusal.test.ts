import { afterAll, beforeAll, describe, it } from 'vitest';
import { openService, type Service } from '../../../src/service/open-service.js';
import { useSharedFolder } from '../../helpers/folders/folders.js';
import {
  acceptedFolio,
  download,
  expectRefusal,
  search,
  send,
  serviceOptions,
  TOKEN,
  track,
  trackFinished,
  upload,
  uploadForm,
  withService,
} from '../../helpers/service/client.js';
import { uploadCsv } from '../../helpers/service/expected-results.js';

const MAX_UPLOAD_BYTES = 100_000;

describe('refusals', () => {
  const newFolder = useSharedFolder();
  let service: Service;
  let finished: string;

  beforeAll(async () => {
    service = await openService(serviceOptions(await newFolder(), { maxUploadBytes: MAX_UPLOAD_BYTES }));
    finished = await acceptedFolio(service.baseUrl, uploadCsv(10));
    await trackFinished(service.baseUrl, finished);
  });

  afterAll(() => service.close());

  it.each([
    ['no folio', { part: '0', fileStatus: 'SUCCESSFUL' }, 400],
    ['no part', { folio: '@', fileStatus: 'SUCCESSFUL' }, 400],
    ['a part that is not a number', { folio: '@', part: '-1', fileStatus: 'SUCCESSFUL' }, 400],
    ['no fileStatus', { folio: '@', part: '0' }, 400],
    ['another fileStatus', { folio: '@', part: '0', fileStatus: 'toString' }, 400],
    ['an unknown folio', { folio: 'nobody', part: '0', fileStatus: 'SUCCESSFUL' }, 404],
    ['an unknown part', { folio: '@', part: '1', fileStatus: 'SUCCESSFUL' }, 404],
    ['a second failed part', { folio: '@', part: '1', fileStatus: 'FAILED' }, 404],
  ])('a download with %s', async (_what, query: Record<string, string>, status) => {
    const folio = query.folio === '@' ? { folio: finished } : {};
    expectRefusal(await download(service.baseUrl, { ...query, ...folio }), status, /./);
  });

  it('401 without the token or with a wrong one, for every operation', async () => {
    const form = { method: 'POST', body: uploadForm(uploadCsv(1), {}) };
    const target = `${service.baseUrl}/naics/naics/external/upload`;
    expectRefusal(await send(target, form), 401, /token is missing/);
    expectRefusal(await upload(service.baseUrl, uploadCsv(1), { token: 'x' }), 401, /token is not known/);
    expectRefusal(await send(`${target}?token=x`, form), 401, /token/);
    expectRefusal(await send(`${target}?token=${TOKEN}&token=${TOKEN}`, form), 401, /token/);
    expectRefusal(await track(service.baseUrl, finished, 'x'), 401, /token/);
    const part = { folio: finished, part: '0', fileStatus: 'SUCCESSFUL' };
    expectRefusal(await download(service.baseUrl, { ...part, token: 'x' }), 401, /token/);
    expectRefusal(await search(service.baseUrl, { name: 'Acme' }), 401, /token/);
  });

  it('404 for an unknown folio or operation', async () => {
    expectRefusal(await track(service.baseUrl, 'nobody'), 404, /folio/);
    expectRefusal(await send(`${service.baseUrl}/else`), 404, /operation/);
  });

  it('400 and 404 for a search', async () => {
    expectRefusal(await search(service.baseUrl, { token: TOKEN }), 400, /name/);
    const broken = { method: 'POST', body: '{', headers: { 'content-type': 'application/json' } };
    expectRefusal(await send(`${service.baseUrl}/naics/naics/search/additional/`, broken), 400, /./);
    await withService({ predictor: 'naics' }, async ({ baseUrl: url }) => {
      expectRefusal(await search(url, { token: TOKEN, name: 'Zzyzx Qwrtp' }), 404, /no industry/);
    });
  });
});
