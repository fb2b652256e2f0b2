/** Plans a run: what it would send, cost and save. */
import {
  type Config,
  checkCall,
  type Job,
  type Plan,
  type PlanOptions,
  planRun,
  startJob,
} from '../src/index.js';

/** The options of `plan`. */
export interface PlanJobOptions extends Omit<PlanOptions, 'signal'> {
  readonly signal?: AbortSignal | undefined;
}

/**
 * Takes no lock and changes nothing. Uses no network, except for an output in S3 and for a source that is a query.
 * @returns a job, whose events are those of copying and checking the source.
 * @throws the SourceError, ConfigError or GuardError with which a run would end before it sends anything.
 */
export function plan(config: Config, options: PlanJobOptions = {}): Job<Plan> {
  return startJob(
    options,
    (given) => planRun(config, given),
    () => checkCall('plan', { config, options }),
  );
}
