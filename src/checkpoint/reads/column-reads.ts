/** Columns that a pipeline's results have had on a service. */
import type { CheckpointReader } from '../checkpoint.js';
import type { StateDatabase } from '../state-database.js';

/** Makes `knownColumns`. */
export function columnReads(db: StateDatabase): Pick<CheckpointReader, 'knownColumns'> {
  const known = db
    .prepare<[string, string], string>(
      'SELECT columns FROM pipeline_columns WHERE pipeline = ? AND service = ?',
    )
    .pluck();

  return {
    knownColumns: db.read((pipeline: string, service: string) => {
      const columns = known.get(pipeline, service);
      return columns === undefined ? undefined : (JSON.parse(columns) as string[]);
    }),
  };
}
