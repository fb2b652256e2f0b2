/** All migrations in order. One that was released is never changed: a new one is added. */

import { changes } from './changes.js';
import { initialTables } from './initial-tables.js';
import { splitsRoundsBudget } from './splits-rounds-budget.js';

export const migrations: readonly string[] = [initialTables, splitsRoundsBudget, ...changes];
