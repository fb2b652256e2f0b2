/** Checks rows by a schema of any library that implements Standard Schema (https://standardschema.dev), such as zod. */
import { UntrustedError } from '../errors.js';
import { showText } from '../text.js';
import type { RowObject } from './read-rows.js';

interface StandardIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

type StandardResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly StandardIssue[] };

/** The part of a Standard Schema (version 1) that is used: its check and its types. */
export interface RowSchema<Output> {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>;
    readonly types?: { readonly input: unknown; readonly output: Output } | undefined;
  };
}

/**
 * @param record the number of the record in the source.
 * @returns what the schema makes of the row; a promise if the schema is asynchronous.
 * @throws UntrustedError `ROW_INVALID` with record and column.
 */
export function checkRow<Output>(
  schema: RowSchema<Output>,
  row: RowObject,
  run: string,
  record: number,
): Output | Promise<Output> {
  const result = schema['~standard'].validate(row);
  return result instanceof Promise
    ? result.then((ended) => outputOf(ended, run, record))
    : outputOf(result, run, record);
}

function outputOf<Output>(result: StandardResult<Output>, run: string, record: number): Output {
  if (result.issues === undefined) return result.value;
  const [issue] = result.issues;
  const [part] = issue?.path ?? [];
  const key = typeof part === 'object' ? part.key : part;
  const column = key === undefined ? null : String(key);
  const where = column === null ? '' : `, column ${showText(column)}`;
  throw new UntrustedError(
    'ROW_INVALID',
    `run ${run}: record ${record}${where} does not fit the schema: ${showText(issue?.message ?? 'no reason is given', 200)}`,
    {
      hint: 'correct the schema, or what it reads: every value is a text, and empty where there is no prediction; the run goes on when it is opened again, and gives every row again',
      facts: { run, record, column },
    },
  );
}
