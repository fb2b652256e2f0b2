/** What the processes of a state do with an account at the service. */
export interface AccountState {
  /** The identity of the service. */
  readonly service: string;
  /** Folios that are open, or may be, with those that are about to be. */
  readonly open: number;
  /** How many may be open, and how many requests a second may be sent; null while no pipeline works with the account. */
  readonly folios: number | null;
  readonly requestsPerSecond: number | null;
  /** How many open folios the service allows, if it has refused more. */
  readonly admitted: number | null;
  /** Pipelines that wait for a permit. */
  readonly waiting: number;
  /** The end of a pause for which the service has asked, in ms since the epoch; null without one. */
  readonly pausedUntil: number | null;
  /** Whose folios are open, and whether a process works on the pipeline. */
  readonly pipelines: readonly {
    readonly pipeline: string;
    readonly open: number;
    readonly isWorking: boolean;
  }[];
}
