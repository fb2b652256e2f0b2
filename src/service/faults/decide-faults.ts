/** The pure core: which faults hit a call. Same plan and same call, same faults, whatever came between. */
import { createHash } from 'node:crypto';
import type { FileStatus, Milliseconds } from '../../types.js';
import type { Operation } from '../http/operation.js';
import type { Failure } from '../predictors/predictor.js';
import type { Folio } from '../store/folio.js';
import { type Fault, type FaultName, faultNames, isFolioFault, operationsOf } from './fault.js';
import { type FaultPlan, isInSet, type Rule } from './rule.js';

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

// Chance that can be repeated: the same seed and the same names always give the same number.

/** @returns a number from 0 up to, but not, 1; independent of what was rolled before. */
export function rollDice(...names: readonly (string | number)[]): number {
  return createHash('sha256').update(names.join('|')).digest().readUInt32BE(0) / 2 ** 32;
}

/** The fault `fail`: decided by seed, folio and record alone, so that a folio gives the same whatever comes between. */
export const MADE_TO_FAIL: Failure = { reason: 'made to fail by a fault rule' };

/** @returns which records (1-based in the upload) are made to fail; undefined where none are. */
export function recordsMadeToFail(
  folio: Pick<Folio, 'id' | 'failShare' | 'failSeed'>,
): ((record: number) => boolean) | undefined {
  const { id, failShare, failSeed } = folio;
  if (failShare === 0) return undefined;
  return (record) => rollDice(failSeed, 'fail', id, record) < failShare;
}
