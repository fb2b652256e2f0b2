/** Counts the calls, asks the plan about each, and remembers the folios that are forgotten or never finish. */
import type { FileStatus } from '../../types.js';
import type { Operation } from '../http/operation.js';
import type { TimeScale } from '../time-scale.js';
import { type Call, decideFaults } from './decide-faults.js';
import type { Fault } from './fault.js';
import type { FaultPlan } from './rule.js';

/** What a request says of itself. */
export interface CallFacts {
  /** Of the folio that it names, where that was accepted. */
  readonly ordinal?: number | undefined;
  readonly fileStatus?: FileStatus | undefined;
}

/** Counts and memory begin with the service's start. */
export class FaultSession {
  readonly #plan: FaultPlan;
  readonly #time: TimeScale;
  readonly #calls = new Map<string, number>();
  readonly #forgotten = new Set<number>();
  readonly #neverFinishing = new Set<number>();

  constructor(plan: FaultPlan, time: TimeScale) {
    this.#plan = plan;
    this.#time = time;
  }

  /** Counts a call: once, when it comes in. */
  count(operation: Operation, { ordinal, fileStatus }: CallFacts): Call {
    return {
      operation,
      number: this.#count(operation),
      elapsed: this.#time.elapsed(performance.now()),
      ...(ordinal !== undefined && { folio: { ordinal, call: this.#count(`${operation} ${ordinal}`) } }),
      ...(fileStatus !== undefined && { fileStatus }),
    };
  }

  /** What hits a call. */
  decide(call: Call): Fault {
    const fault = decideFaults(this.#plan, call);
    return call.folio === undefined ? fault : this.#withLasting(fault, call.folio.ordinal);
  }

  #count(what: string): number {
    const number = (this.#calls.get(what) ?? 0) + 1;
    this.#calls.set(what, number);
    return number;
  }

  /** A folio that was forgotten once stays so, whatever the rule says of later calls. */
  #withLasting(fault: Fault, ordinal: number): Fault {
    if (fault.forget) this.#forgotten.add(ordinal);
    if (fault.neverFinishes) this.#neverFinishing.add(ordinal);
    return {
      ...fault,
      ...(this.#forgotten.has(ordinal) && { forget: true }),
      ...(this.#neverFinishing.has(ordinal) && { neverFinishes: true }),
    };
  }
}
