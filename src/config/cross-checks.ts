/** What holds between two values: each check runs where the sections that it needs were right. */
import { resolve, sep } from 'node:path';
import type { Sections } from './parse-sections.js';

/** Tells of values that are right alone and wrong together. Paths are absolute by now. */
export function crossCheck(sections: Sections, onProblem: (key: string, text: string) => void): void {
  const { poll, retry, result, service, upload, output, source, stateDir } = sections;
  if (poll && poll.first > poll.max) onProblem('poll.first', 'is longer than poll.max');
  if (retry && retry.first > retry.max) onProblem('retry.first', 'is longer than retry.max');
  if (upload?.keyColumn != null && Object.hasOwn(upload.columns, upload.keyColumn)) {
    onProblem(
      'upload.keyColumn',
      `upload.columns also sends a column ${upload.keyColumn}; choose another name, or null`,
    );
  }
  const strange = upload && result?.echo?.filter((name) => !Object.hasOwn(upload.columns, name));
  if (strange && strange.length > 0) {
    onProblem(
      'result.echo',
      `upload.columns sends no ${strange.join(', ')}; it sends ${Object.keys(upload.columns).join(', ')}`,
    );
  }
  if (service && !service.embedded) checkService(service, onProblem);
  if (sections.failures?.rescue === 'search') {
    for (const { key, text } of rescueProblems(sections)) onProblem(key, text);
  }
  if (output && source && resolve(output.path) === resolve(source.path)) {
    onProblem('output.path', 'is the source itself, which must stay as it is');
  }
  if (output && stateDir !== undefined && `${resolve(output.path)}${sep}`.startsWith(`${stateDir}${sep}`)) {
    onProblem('output.path', 'lies in stateDir, whose files belong to foliopipe');
  }
}

function checkService(
  service: NonNullable<Sections['service']>,
  onProblem: (key: string, text: string) => void,
): void {
  if (service.baseUrl === null) {
    onProblem('service.baseUrl', 'is missing; write the address of the service, or embedded: true');
  }
  if (service.token !== null && service.tokenFile !== null) {
    onProblem('service.tokenFile', 'stands beside service.token; write one of them');
  }
  if (service.token === null && service.tokenFile === null) {
    onProblem('service.token', 'is missing; set FOLIOPIPE_TOKEN, or write token or tokenFile');
  }
}

// What a config lacks for asking the single-record search about failed records.

/** The sections that matter; those that were wrong in themselves are left out. */
export type RescueSections = Pick<Sections, 'failures' | 'upload'> & {
  readonly service?: { readonly embedded: boolean; readonly legacyBaseUrl: string | null };
};

export function rescueProblems({ failures, upload, service }: RescueSections): {
  readonly key: string;
  readonly text: string;
}[] {
  const problems = [];
  if (failures && Object.keys(failures.rescueColumns).length === 0) {
    problems.push({
      key: 'failures.rescueColumns',
      text: 'is missing; write which field of the search reply goes into which result column, such as { naics_code: response.naics_code }',
    });
  }
  if (service && !service.embedded && service.legacyBaseUrl === null) {
    problems.push({
      key: 'service.legacyBaseUrl',
      text: 'is missing; write the address at which failed records are searched',
    });
  }
  if (upload && !Object.hasOwn(upload.columns, 'name')) {
    problems.push({
      key: 'upload.columns',
      text: 'sends no column name, without which nothing can be searched',
    });
  }
  return problems;
}

/** What the config can already say and this release cannot do: refused, never ignored. */
interface NotYet {
  readonly key: string;
  readonly isWanted: (sections: Sections) => boolean | undefined;
  readonly what: string;
  readonly leaveAt: string;
}

const notYet: readonly NotYet[] = [
  {
    key: 'result.onChange',
    isWanted: ({ result }) => result && result.onChange === 'add',
    what: 'adding result columns in the middle of the nights',
    leaveAt: 'fail or ignore',
  },
];

/** Tells of every value that asks for what this release cannot do. */
export function findNotYet(sections: Sections, onProblem: (key: string, text: string) => void): void {
  for (const { key, isWanted, what, leaveAt } of notYet) {
    if (isWanted(sections)) onProblem(key, `${what} comes with a later release; leave it at ${leaveAt}`);
  }
}
