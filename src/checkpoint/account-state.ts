/** How all processes that share a state use one account at the service. */
export interface AccountState {
  /** The identity of the service. */
  readonly service: string;
  /** Folios that are open or may be open, and those that are about to be opened. */
  readonly open: number;
  /** The limits of open folios and of requests per second; null while no pipeline works with the account. */
  readonly folios: number | null;
  readonly requestsPerSecond: number | null;
  /** How many open folios the service allows, if it has refused more. */
  readonly admitted: number | null;
  /** Pipelines that wait for a permit. */
  readonly waiting: number;
  /** The end of a pause for which the service has asked, in ms since the epoch; null without one. */
  readonly pausedUntil: number | null;
  /** The pipelines that hold these folios, and whether a process works on each. */
  readonly pipelines: readonly {
    readonly pipeline: string;
    readonly open: number;
    readonly isWorking: boolean;
  }[];
}
