/** Why a table cannot hold the keys of an output apart, which are compared as texts: `1` and `01` are two keys. */
import { ConfigError } from '../errors.js';
import { showText } from '../text.js';

const HINT =
  'give the key columns of the table the type text (varchar) without a collation of its own, or load into another table (load.table); then: foliopipe load';

/** @param column compares without regard to capital letters or the like. */
export function looseKeyError(table: string, column: string): ConfigError {
  return new ConfigError(
    'LOAD_KEY_UNFIT',
    `load.table: ${showText(column, 63)} of ${showText(table, 130)} takes keys for the same that differ, such as in capital letters (its collation, or citext)`,
    {
      hint: 'give the key columns of the table the type text (varchar) with a deterministic collation, and their index no other one; then the same command again',
      facts: { table, column },
    },
  );
}

/** @param columns of the key. @param key as the output has it, and the table has not stored it. */
export function storedKeyError(columns: readonly string[], key: readonly string[]): ConfigError {
  return new ConfigError(
    'LOAD_KEY_UNFIT',
    `the table does not keep the key ${listed(key)} of ${listed(columns)} as it is written, and would take other keys for the same`,
    { hint: `nothing was loaded; ${HINT}`, facts: { columns: columns.join(', ') } },
  );
}

/** @param columns of the key, by which two rows of the output are one row of the table. */
export function doubleKeyError(columns: readonly string[]): ConfigError {
  return new ConfigError(
    'LOAD_KEY_UNFIT',
    `two keys of the output are the same in ${listed(columns)} of the table`,
    { hint: `nothing was loaded; ${HINT}`, facts: { columns: columns.join(', ') } },
  );
}

function listed(texts: readonly string[]): string {
  return texts.map((text) => showText(text, 63)).join(', ');
}
