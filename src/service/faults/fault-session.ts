/** Faults from the moment they are set: counts calls, and remembers folios that are forgotten or never finish. */
import type { FileStatus } from '../../types.js';
import type { Operation } from '../http/operation.js';
import type { TimeScale } from '../time-scale.js';
import { type Call, decideFaults } from './decide-faults.js';
import type { Fault } from './fault.js';
import type { FaultPlan } from './rule.js';

/** The facts that a request gives. */
export interface CallFacts {
  /** Id of the folio that the request names, if the service knows it. */
  readonly folio?: number | undefined;
  readonly fileStatus?: FileStatus | undefined;
}

export class FaultSession {
  readonly plan: FaultPlan;
  readonly #time: TimeScale;
  readonly #before: number;
  readonly #calls = new Map<string, number>();
  readonly #forgotten = new Set<number>();
  readonly #neverFinishing = new Set<number>();

  /** @param before the id of the newest folio that rules do not count; 0: they count all. */
  constructor(plan: FaultPlan, time: TimeScale, before: number) {
    this.plan = plan;
    this.#time = time;
    this.#before = before;
  }

  /** Counts a call. Must be called once per request, when it arrives. */
  count(operation: Operation, { folio, fileStatus }: CallFacts): Call {
    const ordinal = folio === undefined ? undefined : folio - this.#before;
    return {
      operation,
      number: this.#increment(operation),
      elapsed: this.#time.elapsed(performance.now()),
      ...(ordinal !== undefined && { folio: { ordinal, call: this.#increment(`${operation} ${ordinal}`) } }),
      ...(fileStatus !== undefined && { fileStatus }),
    };
  }

  /** The faults that hit a call. */
  decide(call: Call): Fault {
    const fault = decideFaults(this.plan, call);
    return call.folio === undefined ? fault : this.#withLastingFaults(fault, call.folio.ordinal);
  }

  #increment(counter: string): number {
    const number = (this.#calls.get(counter) ?? 0) + 1;
    this.#calls.set(counter, number);
    return number;
  }

  /** After one hit, a folio stays forgotten or unfinished, even for calls that no rule matches. */
  #withLastingFaults(fault: Fault, ordinal: number): Fault {
    if (fault.forget) this.#forgotten.add(ordinal);
    if (fault.neverFinishes) this.#neverFinishing.add(ordinal);
    return {
      ...fault,
      ...(this.#forgotten.has(ordinal) && { forget: true }),
      ...(this.#neverFinishing.has(ordinal) && { neverFinishes: true }),
    };
  }
}
