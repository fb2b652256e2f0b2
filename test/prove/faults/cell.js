/** How the tables write a cell: which operation is hit, by which fault, and the expected outcome. */

/**
 * @param operation `upload`, `track`, `download`, `search` or `any`, as rules name them.
 * @param fault its name in docs/faults.md.
 * @param given `rules` (each without its `on`), the `expect`ed outcome, changes of the `config`, and `later`, the rules
 *   of the service of the second run; without these, that service has no faults.
 */
export function cell(operation, fault, variant, { rules, expect, config = {}, later = [] }) {
  return {
    id: `${operation} ${fault} ${variant}`,
    operation,
    fault,
    variant,
    rules: rules.map((rule) => ({ on: operation, ...rule })),
    expect,
    config,
    later,
  };
}

/** Only the operation's first call. */
export const once = (fault) => [{ calls: 1, fault }];
export const forEver = (fault) => [{ fault }];

/** A cell each for the first call and for all calls. */
export function onceAndForEver(operation, fault, variant, { hit, first, always, config, alwaysConfig }) {
  return [
    cell(operation, fault, `${variant}once`, { rules: once(hit), expect: first, config }),
    cell(operation, fault, `${variant}for ever`, {
      rules: forEver(hit),
      expect: always,
      config: { ...config, ...alwaysConfig },
    }),
  ];
}

/** Statuses by which every operation is refused, and the error's code. */
export const REFUSING = {
  302: 'SERVICE_REDIRECTS',
  400: 'SERVICE_REFUSED',
  401: 'TOKEN_REFUSED',
  402: 'QUOTA_REFUSED',
  403: 'TOKEN_REFUSED',
  413: 'SERVICE_REFUSED',
  422: 'SERVICE_REFUSED',
};
/** Statuses that prove that a paid POST was not accepted: it is sent again. */
export const PASSING = [408, 429, 503];
/** Statuses after which a paid POST is ambiguous. */
export const UNCLEAR = [500, 502, 504];

/** Two cells for each status. */
export function statusCells(operation, statuses, outcomesOf) {
  return statuses.flatMap((status) =>
    onceAndForEver(operation, 'status', `${status}, `, {
      hit: { status: Number(status) },
      ...outcomesOf(status),
    }),
  );
}
