/** The state of a publication's load as text: in summary and status, and as the result of `foliopipe load`. */
import type { LoadReport, MissingLoad } from '../../../pipelines/index.js';
import { countOf } from '../../quantities.js';

/** Says that the pipeline's newest publication is not loaded, if it is of another run than the shown one. */
export function missingLoadText(missing: MissingLoad | null): string {
  if (missing === null) return '';
  const { run } = missing;
  return `  load      of run ${run}: ${loadText(missing)}; to load it: foliopipe load ${run}\n`;
}

/** The state of a load in one line. */
export function loadText({
  into,
  table,
  mode,
  publication,
  state,
  why,
  code,
  at,
  ...done
}: LoadReport): string {
  const place = `${table} of ${into}`;
  switch (state) {
    case 'left':
      return `publication ${publication} is not loaded into ${place}: ${why}`;
    case 'failed':
      return `publication ${publication} is not loaded into ${place}: the attempt at ${timeText(at)} failed (${code ?? 'unknown'}): ${why}`;
    case 'pending':
      return `publication ${publication} is not loaded into ${place} yet`;
    case 'already':
      return `${place} has publication ${publication} already; nothing has changed`;
    case 'loaded': {
      const { base, written, removed, added } = done;
      const what = base === null ? 'whole output' : `delta since publication ${base}`;
      const rows = `${countOf(written, 'row')} written, ${countOf(removed, 'row')} deleted`;
      const columns =
        added.length === 0 ? '' : `, ${countOf(added.length, 'column')} added: ${added.join(', ')}`;
      return `publication ${publication} is loaded into ${place} (${mode}, ${what}): ${rows}${columns}, at ${timeText(at)}`;
    }
  }
}

function timeText(at: number | null): string {
  return at === null ? 'an unknown time' : new Date(at).toISOString();
}
