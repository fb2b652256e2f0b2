/** The pure core: which faults hit a call. Same plan and same call, same faults, whatever came between. */
import type { FileStatus, Milliseconds } from '../../types.js';
import type { Operation } from '../http/operation.js';
import { rollDice } from './dice.js';
import { type Fault, type FaultName, faultNames, isFolioFault, operationsOf } from './fault.js';
import { isInSet } from './number-set.js';
import type { FaultPlan, Rule } from './rule.js';

export interface Call {
  readonly operation: Operation;
  /** 1-based place among all calls of the operation. */
  readonly number: number;
  /** The service's time since it was opened. */
  readonly elapsed: Milliseconds;
  /** Of a GET that names a folio that was accepted. */
  readonly folio?: CalledFolio;
  /** Of a download. */
  readonly fileStatus?: FileStatus;
  /** Of an upload, where a rule asks for it and the file could be read. */
  readonly file?: UploadedFile;
}

export interface CalledFolio {
  /** 1-based place among all folios that were accepted. */
  readonly ordinal: number;
  /** 1-based place among the calls of the operation for this folio. */
  readonly call: number;
}

export interface UploadedFile {
  readonly records: number;
  /** Those of the texts that rules look for which the file contains. */
  readonly texts: ReadonlySet<string>;
}

/** @returns all faults together; of two rules that say something of the same, the first one's. */
export function decideFaults(plan: FaultPlan, call: Call): Fault {
  let decided: Fault = {};
  for (const [index, rule] of plan.rules.entries()) {
    if (!isMeant(rule, call)) continue;
    const hits = faultNames(rule.fault).filter(
      (name) =>
        canHit(name, rule.fault, call) &&
        !(name === 'retryAfter' && decided.status !== undefined) &&
        isRolled(name, rule, call, [plan.seed, index]),
    );
    decided = { ...only(rule.fault, hits), ...decided };
  }
  return decided;
}

function isMeant(rule: Rule, { operation, number, elapsed, folio, fileStatus, file }: Call): boolean {
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

/** What belongs to a folio is rolled once a folio, anything else once a call. */
function isRolled(name: FaultName, rule: Rule, call: Call, seed: readonly number[]): boolean {
  if (rule.probability === undefined) return true;
  const rolledFor =
    isFolioFault(name) && call.folio !== undefined
      ? ['folio', call.folio.ordinal]
      : [call.operation, call.number];
  return rollDice(...seed, ...rolledFor) < rule.probability;
}

function only(fault: Fault, names: readonly FaultName[]): Fault {
  return Object.fromEntries(names.map((name) => [name, fault[name]]));
}
