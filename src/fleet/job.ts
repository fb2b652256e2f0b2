/** A run as a job: what a worker on any machine needs to do it. It holds names of variables, and no secrets. */

/** Stands for the command of a process that does a job: that command names a config file which is removed afterwards. */
export const OF_WORKER = 'of a worker';

/** How a run has ended that did not succeed. The texts are fit to be shown. */
export interface RunProblem {
  /** Null for a process that was killed. */
  readonly exitCode: number | null;
  /** Such as `SOURCE_MISSING`. */
  readonly code: string;
  readonly message: string;
  readonly hint: string | null;
}

/** Why a job is repeated. */
export interface Trouble extends RunProblem {
  /** How often in a row it has ended like this. */
  readonly times: number;
  /** Epoch milliseconds of the first time. */
  readonly since: number;
}

/** Flags of `run` that go with a job. */
export interface RunFlags {
  readonly yes?: boolean;
  readonly label?: string;
  /** As it was written, such as `6h`. */
  readonly maxDuration?: string;
  readonly publishPartial?: boolean;
}

/** Where the config was read, and must be corrected if it is wrong. */
interface JobOrigin {
  readonly host: string;
  readonly files: readonly string[];
  /** The flags that were given, in the form that `--set` takes. Left out if there were none. */
  readonly settings?: readonly string[];
}

export interface RunJob {
  readonly version: 1;
  readonly pipeline: string;
  /**
   * What the config file of the worker holds, as JSON text: as an object, the database would sort its keys, and the
   * order of `upload.columns` is part of a run.
   */
  readonly config: string;
  readonly flags: RunFlags;
  readonly from: JobOrigin;
  /** The missed time of its schedule for which it makes up, epoch milliseconds. */
  readonly madeUpFor?: number;
  /** Left out as long as nothing has gone wrong. */
  readonly trouble?: Trouble;
}

/** A run that waits for a person. */
export interface DeadLetter extends RunJob {
  readonly problem: RunProblem & {
    readonly run: string | null;
    /** Epoch milliseconds. */
    readonly at: number;
    /** The machine on which it ended. */
    readonly host: string;
  };
}

/** Whether what the database holds is a job of this version: another program may have written it. */
export function isRunJob(data: unknown): data is RunJob {
  return (
    isRecord(data) &&
    data.version === 1 &&
    typeof data.pipeline === 'string' &&
    typeof data.config === 'string' &&
    isRecord(data.flags) &&
    isRecord(data.from)
  );
}

/** Whether what the database holds is a dead letter of this version. */
export function isDeadLetter(data: unknown): data is DeadLetter {
  return isRunJob(data) && isRecord((data as Partial<DeadLetter>).problem);
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The arguments of `foliopipe run` for a job. */
export function runArguments({ yes, label, maxDuration, publishPartial }: RunFlags): readonly string[] {
  return [
    ...(yes === true ? ['--yes'] : []),
    ...(label === undefined ? [] : [`--label=${label}`]),
    ...(maxDuration === undefined ? [] : [`--max-duration=${maxDuration}`]),
    ...(publishPartial === true ? ['--publish-partial'] : []),
  ];
}
