/** Checks values against each other. Each check runs only if the sections that it needs are valid. */
import { resolve, sep } from 'node:path';
import { outputFormat } from '../output-format.js';
import type { Sections } from './parse-sections.js';
import { isFolder, isS3, withoutPublication } from './sections/output-names.js';
import { isParquet } from './sections/source-section.js';
import { IN_DATABASE } from './sections/state-section.js';

type OnProblem = (key: string, text: string) => void;

/** Reports values that are each valid but wrong together. Paths must be absolute. */
export function crossCheck(sections: Sections, onProblem: OnProblem): void {
  const { poll, retry, service } = sections;
  if (poll && poll.first > poll.max) onProblem('poll.first', 'is longer than poll.max');
  if (retry && retry.first > retry.max) onProblem('retry.first', 'is longer than retry.max');
  checkColumns(sections, onProblem);
  if (service && !service.embedded) checkService(service, onProblem);
  if (sections.failures?.rescue === 'search') {
    for (const { key, text } of rescueProblems(sections)) onProblem(key, text);
  }
  checkSourcePlace(sections, onProblem);
  checkOutputPath(sections, onProblem);
  checkReport(sections, onProblem);
  checkFolder(sections, onProblem);
  checkTypes(sections, onProblem);
  checkDelta(sections, onProblem);
  checkLoad(sections, onProblem);
}

/** The sections that the search for failed records needs; invalid ones are left out. */
type RescueSections = Pick<Sections, 'failures' | 'upload' | 'result'> & {
  readonly service?: { readonly embedded: boolean; readonly legacyBaseUrl: string | null };
};

/** The problems that prevent a search for failed records, one by one. */
export function rescueProblems({ failures, upload, service, result }: RescueSections): {
  readonly key: string;
  readonly text: string;
}[] {
  const problems = [];
  if (failures && Object.keys(failures.rescueColumns).length === 0) {
    problems.push({
      key: 'failures.rescueColumns',
      text: 'is missing; map each result column to a field of the search reply, such as { naics_code: response.naics_code }',
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
      text: 'has no sent column called name, which the search needs',
    });
  }
  const unknown = Object.keys(failures?.rescueColumns ?? {}).filter((name) => isUndeclared(name, result));
  if (unknown.length > 0) {
    problems.push({ key: 'failures.rescueColumns', text: noColumn(unknown.join(', '), result!) });
  }
  return problems;
}

function checkColumns({ upload, result }: Sections, onProblem: OnProblem): void {
  if (upload === undefined) return;
  const { columns, keyColumn } = upload;
  if (keyColumn !== null && Object.hasOwn(columns, keyColumn)) {
    onProblem(
      'upload.keyColumn',
      `upload.columns also sends a column ${keyColumn}; choose another name, or null`,
    );
  }
  for (const [key, column] of Object.entries(result?.report ?? {})) {
    if (column !== null && isUndeclared(column, result))
      onProblem(`result.report.${key}`, noColumn(column, result!));
  }
  const unsent = result?.echo?.filter((name) => !Object.hasOwn(columns, name)) ?? [];
  if (unsent.length > 0) {
    onProblem(
      'result.echo',
      `upload.columns sends no ${unsent.join(', ')}; it sends ${Object.keys(columns).join(', ')}`,
    );
  }
}

/** Whether the results will certainly have no such column. */
function isUndeclared(name: string, result: Sections['result']): boolean {
  if (result === undefined || result.columns.length === 0 || result.onChange === 'add') return false;
  return !result.columns.includes(name);
}

function noColumn(names: string, { columns }: NonNullable<Sections['result']>): string {
  return `result.columns has no ${names}; it has ${columns.join(', ')}`;
}

function checkService(service: NonNullable<Sections['service']>, onProblem: OnProblem): void {
  if (service.baseUrl === null) {
    onProblem('service.baseUrl', 'is missing; write the address of the service, or embedded: true');
  }
  if (service.token !== null && service.tokenFile !== null) {
    onProblem('service.tokenFile', 'is set in addition to service.token; use only one of them');
  }
  if (service.token === null && service.tokenFile === null) {
    onProblem('service.token', 'is missing; set FOLIOPIPE_TOKEN, or write token or tokenFile');
  }
}

function checkSourcePlace({ source }: Sections, onProblem: OnProblem): void {
  if (!source) return;
  if (source.path !== null && source.query !== null) {
    onProblem(
      'source.query',
      'is set in addition to source.path; use only one of them, and null for the other',
    );
  }
  if (source.query === null && !isParquet(source)) return;
  const isGiven = {
    encoding: source.encoding !== 'auto',
    delimiter: source.delimiter !== 'auto',
    quote: source.quote !== 'auto',
    header: Array.isArray(source.header),
    skipLines: source.skipLines > 0,
  };
  for (const [key, given] of Object.entries(isGiven)) {
    if (given) onProblem(`source.${key}`, 'is for CSV files; leave it out for a query and for Parquet');
  }
}

function checkOutputPath({ output, source, stateDir }: Sections, onProblem: OnProblem): void {
  if (output && isS3(output.path)) return;
  if (output && source?.path && resolve(output.path) === resolve(source.path)) {
    onProblem('output.path', 'is the source itself, which must stay as it is');
  }
  if (output && stateDir !== undefined && `${resolve(output.path)}${sep}`.startsWith(`${stateDir}${sep}`)) {
    onProblem('output.path', 'lies in stateDir, whose files belong to foliopipe');
  }
}

function checkReport({ report, output, source, stateDir }: Sections, onProblem: OnProblem): void {
  for (const [key, path] of Object.entries({ html: report?.html, textfile: report?.textfile })) {
    if (path != null && stateDir !== undefined && path.startsWith(`${stateDir}${sep}`)) {
      onProblem(`report.${key}`, 'lies in stateDir, whose files belong to foliopipe');
    }
  }
  const html = report?.html;
  if (html == null) return;
  if (output && html === output.path) onProblem('report.html', 'is the output itself; write another file');
  if (html === source?.path) onProblem('report.html', 'is the source itself, which must stay as it is');
}

function checkFolder({ output, source }: Sections, onProblem: OnProblem): void {
  if (!output) return;
  if (!isFolder(output.path) && output.maxFileBytes !== null) {
    onProblem('output.maxFileBytes', 'is for an output.path that ends in /: a single file is not split');
  }
  const path = source?.path;
  if (isFolder(output.path) && path?.startsWith(output.path) && path !== withoutPublication(path)) {
    onProblem(
      'source.path',
      'is in a publication of this output, which is removed once there are newer ones',
    );
  }
}

function checkTypes({ output }: Sections, onProblem: OnProblem): void {
  if (!output || outputFormat(output.path) === 'parquet') return;
  if (Object.keys(output.types).length > 0) {
    onProblem(
      'output.types',
      'is for an output.path that ends in .parquet: a CSV holds only texts; leave it out, or empty it with --set output.types={}',
    );
  }
}

function checkDelta({ output, source }: Sections, onProblem: OnProblem): void {
  if (output?.delta && source?.key === null) {
    onProblem('output.delta', 'needs source.key: the source columns that name a record, such as [id]');
  }
}

function checkLoad({ load, source, output }: Sections, onProblem: OnProblem): void {
  if (!load) return;
  if (output && outputFormat(output.path) === 'parquet') {
    onProblem(
      'load',
      'reads a CSV, and output.path ends in .parquet; write .csv, .csv.gz or .csv.zst, or leave load out: --set load=null',
    );
  }
  if (/(?:^|\.)"?foliopipe_loads"?$/i.test(load.table)) {
    onProblem('load.table', 'is the table in which foliopipe records its loads; name another one');
  }
  if (load.mode === 'merge' && source?.key === null) {
    onProblem('load.mode', 'merge needs source.key: the source columns that name a record, such as [id]');
  }
  if (load.onRemoved === 'delete' && load.mode !== 'merge') {
    onProblem('load.onRemoved', `is only for load.mode: merge; ${load.mode} decides itself which rows stay`);
  }
}

/**
 * Reports keys of a state in a database that do not go together.
 * @param given.hasStateDir whether a setting gives `stateDir`.
 * @param given.stateOrigin what gives `state`: a file with its line, a flag or a variable.
 */
export function checkState(
  { state, files, scratchDir, schedule }: Sections,
  given: { readonly hasStateDir: boolean; readonly stateOrigin: string | undefined },
  onProblem: OnProblem,
): void {
  if (state == null) {
    if (files !== undefined && files !== IN_DATABASE)
      onProblem('files', 'is only for a state in a database; set state, or leave it out');
    if (scratchDir != null)
      onProblem('scratchDir', 'is only for a state in a database; without state, write stateDir');
    if (schedule != null)
      onProblem(
        'schedule',
        'is kept by the workers of a fleet, whose jobs are in a database; set state, or let cron begin the run',
      );
    return;
  }
  if (given.hasStateDir) {
    const origin = given.stateOrigin === undefined ? '' : ` (${given.stateOrigin})`;
    onProblem(
      'stateDir',
      `is set in addition to state${origin}; use only one of them (scratchDir is the folder for what a machine can make again)`,
    );
  }
}
