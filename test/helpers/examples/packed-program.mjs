/** Embeds the installed package: enriches a file against the local service, and is refused with a wrong token. */
import { writeFileSync } from 'node:fs';
import { enrich, parseConfig, RefusedError } from 'foliopipe';
import { openService } from 'foliopipe/service';

writeFileSync('two.csv', 'name\nBitterroot Dental Clinic\nMissoula Bakery\n');
const service = await openService();
const configOf = (pipeline, section) =>
  parseConfig(
    {
      pipeline,
      source: { path: 'two.csv' },
      upload: { columns: { name: 'name' } },
      service: section,
      poll: { first: '10ms', max: '50ms' },
      output: { path: `${pipeline}.csv` },
    },
    process.cwd(),
  );
const { counts } = await enrich(configOf('a', { embedded: true }), { endpoint: service });
const uploads = service.uploads().length;
const wrong = configOf('b', { baseUrl: service.baseUrl, token: 'wrong' });
const error = await enrich(wrong).catch((caught) => caught);
const refused = error instanceof RefusedError ? error.code : error;
console.log(`${counts.successful} successful, ${uploads} upload, ${refused}`);
await service.close();
