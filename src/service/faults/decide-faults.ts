/** Decides which faults hit a call: a pure function of the plan and the call, independent of other calls. */
import type { FileStatus, Milliseconds } from '../../types.js';
import type { Operation } from '../http/operation.js';
import { type Fault, type FaultName, faultNames, isFolioFault, operationsOf } from './fault.js';
import { type FaultPlan, isInSet, type Rule } from './rule.js';
import { seededRandom } from './seeded-random.js';

export interface Call {
  readonly operation: Operation;
  /** 1-based number among all calls of the operation. */
  readonly number: number;
  /** The service's time since its faults were set. */
  readonly elapsed: Milliseconds;
  /** The folio that a GET names, if the service knows it. */
  readonly folio?: CalledFolio;
  /** Only for a download. */
  readonly fileStatus?: FileStatus;
  /** Only for an upload, if a rule has a file condition and the file could be read. */
  readonly file?: UploadedFile;
}

interface CalledFolio {
  /** 1-based number among the folios that rules count; 0 and less for those before them. */
  readonly ordinal: number;
  /** 1-based number among the calls of the operation for this folio. */
  readonly call: number;
}

interface UploadedFile {
  readonly records: number;
  /** The `contains` texts of rules that the file contains. */
  readonly texts: ReadonlySet<string>;
}

/** @returns the faults of all rules together. If two rules set the same fault, the first rule wins. */
export function decideFaults(plan: FaultPlan, call: Call): Fault {
  let decided: Fault = {};
  for (const [index, rule] of plan.rules.entries()) {
    if (!matches(rule, call)) continue;
    const hits = faultNames(rule.fault).filter(
      (name) =>
        canHit(name, rule.fault, call) &&
        // `retryAfter` belongs to the status of its own rule.
        !(name === 'retryAfter' && decided.status !== undefined) &&
        isDrawn(name, rule, call, [plan.seed, index]),
    );
    decided = { ...pick(rule.fault, hits), ...decided };
  }
  return decided;
}

function matches(rule: Rule, { operation, number, elapsed, folio, fileStatus, file }: Call): boolean {
  const { on, calls, folioCalls, folio: folios, records, contains, between } = rule;
  return (
    (on === 'any' || on === operation) &&
    (calls === undefined || isInSet(calls, number)) &&
    (folioCalls === undefined || (folio !== undefined && isInSet(folioCalls, folio.call))) &&
    (folios === undefined || (folio !== undefined && isInSet(folios, folio.ordinal))) &&
    (rule.fileStatus === undefined || rule.fileStatus === fileStatus) &&
    (records === undefined || (file !== undefined && file.records >= records.from)) &&
    (contains === undefined || file?.texts.has(contains) === true) &&
    elapsed >= (between?.after ?? 0) &&
    elapsed < (between?.until ?? Number.POSITIVE_INFINITY)
  );
}

function canHit(name: FaultName, fault: Fault, { operation, folio }: Call): boolean {
  const needsFolio = isFolioFault(name) && operation !== 'upload';
  return operationsOf(name, fault).includes(operation) && !(needsFolio && folio === undefined);
}

/** Whether the rule's probability selects the call. Draws faults of a folio once per folio, others once per call. */
function isDrawn(name: FaultName, rule: Rule, call: Call, seed: readonly number[]): boolean {
  if (rule.probability === undefined) return true;
  const drawnFor =
    isFolioFault(name) && call.folio !== undefined
      ? ['folio', call.folio.ordinal]
      : [call.operation, call.number];
  return seededRandom(...seed, ...drawnFor) < rule.probability;
}

function pick(fault: Fault, names: readonly FaultName[]): Fault {
  return Object.fromEntries(names.map((name) => [name, fault[name]]));
}
