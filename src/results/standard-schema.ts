/** Checks rows by a schema of any library that implements Standard Schema (https://standardschema.dev), such as zod. */
import { types } from 'node:util';
import { ConfigError, UntrustedError } from '../errors.js';
import { showText, thrownText } from '../text.js';
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

/** @throws ConfigError `ROW_SCHEMA_UNKNOWN` unless this is a Standard Schema. */
export function checkSchema(schema: unknown): void {
  const standard = (schema as Partial<RowSchema<unknown>> | null | undefined)?.['~standard'];
  if (typeof standard?.validate === 'function') return;
  throw new ConfigError(
    'ROW_SCHEMA_UNKNOWN',
    'the schema for the rows is not a Standard Schema (https://standardschema.dev)',
    {
      hint: 'give a schema of zod 4, valibot, arktype or another library with Standard Schema; or leave it out',
    },
  );
}

/**
 * @param record the number of the record in the source.
 * @returns what the schema makes of the row; a promise if the schema is asynchronous.
 * @throws UntrustedError `ROW_INVALID` with record and column; its cause is the error of a schema that throws.
 */
export function checkRow<Output>(
  schema: RowSchema<Output>,
  row: RowObject,
  run: string,
  record: number,
): Output | Promise<Output> {
  const failed = (cause: unknown): never => {
    throw invalid(run, record, null, `makes its schema fail: ${showText(thrownText(cause), 200)}`, cause);
  };
  let result: StandardResult<Output> | Promise<StandardResult<Output>>;
  try {
    result = schema['~standard'].validate(row);
  } catch (cause) {
    return failed(cause);
  }
  return types.isPromise(result)
    ? result.then((ended) => outputOf(ended, run, record), failed)
    : outputOf(result as StandardResult<Output>, run, record);
}

function outputOf<Output>(result: StandardResult<Output>, run: string, record: number): Output {
  if (typeof result !== 'object' || result === null) {
    throw invalid(run, record, null, 'gets no result from its schema', undefined);
  }
  if (result.issues === undefined) return result.value;
  const [issue] = result.issues;
  const [part] = issue?.path ?? [];
  const key = typeof part === 'object' ? part.key : part;
  const column = key === undefined ? null : String(key);
  const why = `does not fit the schema: ${showText(issue?.message ?? 'no reason is given', 200)}`;
  throw invalid(run, record, column, why, undefined);
}

function invalid(
  run: string,
  record: number,
  column: string | null,
  why: string,
  cause: unknown,
): UntrustedError {
  const where = column === null ? '' : `, column ${showText(column)}`;
  return new UntrustedError('ROW_INVALID', `run ${run}: record ${record}${where} ${why}`, {
    hint: 'correct the schema, or what it reads: every value is a text, which is empty if there is no prediction; the run continues when it is opened again, and gives every row again',
    facts: { run, record, column },
    cause,
  });
}
