/** What holds between two values: each check runs where the sections that it needs were right. */
import { resolve, sep } from 'node:path';
import type { Sections } from './parse-sections.js';
import { rescueProblems } from './rescue-problems.js';

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
