/** What a config lacks for asking the single-record search about failed records. */
import type { Sections } from './parse-sections.js';

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
