/**
 * Statements that SQLite prepares when they are first used. The checkpoint has more than a hundred, a command uses a few
 * of them, and to prepare all takes longer than to open the database.
 */
import type { Database, RunResult } from 'better-sqlite3';

/** What the checkpoint uses of a statement of better-sqlite3. */
export interface StateStatement<Values extends unknown[], Row> {
  run(...values: Values): RunResult;
  get(...values: Values): Row | undefined;
  all(...values: Values): Row[];
  iterate(...values: Values): IterableIterator<Row>;
  /** Has each row be its first column alone. Called before the statement is used. */
  pluck(): StateStatement<Values, Row>;
  /** Has each row be the list of its columns. Called before the statement is used. */
  raw(): StateStatement<Values, Row>;
}

/** @param Values of the places in the statement: a list for `?`, an object for `@name`. */
export type Prepare = <Values extends unknown[] | object = unknown[], Row = unknown>(
  sql: string,
) => StateStatement<Values extends unknown[] ? Values : [Values], Row>;

/** @returns a function that makes statements of this connection. A wrong one throws when it is first used. */
export function prepareWhenUsed(connection: Database): Prepare {
  return <Values extends unknown[] | object, Row>(sql: string) => {
    type Places = Values extends unknown[] ? Values : [Values];
    let shape: 'pluck' | 'raw' | undefined;
    let prepared: StateStatement<Places, Row> | undefined;
    const ready = () => {
      if (prepared !== undefined) return prepared;
      const made = connection.prepare<unknown[], Row>(sql);
      prepared = shape === undefined ? made : made[shape]();
      return prepared;
    };
    const shaped = (as: 'pluck' | 'raw') => () => {
      shape = as;
      return statement;
    };
    const statement: StateStatement<Places, Row> = {
      run: (...values) => ready().run(...values),
      get: (...values) => ready().get(...values),
      all: (...values) => ready().all(...values),
      iterate: (...values) => ready().iterate(...values),
      pluck: shaped('pluck'),
      raw: shaped('raw'),
    };
    return statement;
  };
}
