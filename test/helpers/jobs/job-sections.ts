/** What the configs of test jobs share: small chunks, no long waits, and any number of failed records. */
import { serveToken } from '../service/serve.js';

/** Sections of a config; their keys replace those of the same section. */
export type Sections = Readonly<Record<string, object>>;

/** For a service in the process of the test. */
export const quickSections = {
  source: { path: 'source.csv' },
  chunks: { maxRecords: 10 },
  concurrency: { uploads: 2, folios: 4, downloads: 2 },
  poll: { first: '5ms', max: '10ms', lostAfter: '150ms' },
  retry: { first: '5ms', max: '20ms', giveUpAfter: '20s' },
  failures: { tolerate: '100%' },
  output: { path: 'out/enriched.csv' },
};

/** For jobs of the command line, whose processes share the machine with their service. */
export function cliSections(baseUrl: string, settings?: Sections): Sections {
  const sections = {
    source: { path: 'source.csv' },
    upload: { columns: { name: 'BusinessName', address: 'Address', state: 'State' } },
    service: { baseUrl, token: `\${FOLIOPIPE_TOKEN}`, requestsPerSecond: 1000 },
    chunks: { maxRecords: 10 },
    poll: { first: '20ms', max: '100ms', lostAfter: '300ms' },
    retry: { first: '20ms', max: '100ms' },
    failures: { tolerate: '100%' },
    output: { path: 'out/enriched.csv' },
  };
  return withSections(sections, settings);
}

/** The variables that `cliSections` needs. */
export const cliEnv = { FOLIOPIPE_TOKEN: serveToken };

export function withSections(sections: Sections, ...changes: readonly (Sections | undefined)[]): Sections {
  const merged: Record<string, object> = { ...sections };
  for (const [name, section] of changes.flatMap((change) => Object.entries(change ?? {}))) {
    merged[name] = { ...merged[name], ...section };
  }
  return merged;
}
