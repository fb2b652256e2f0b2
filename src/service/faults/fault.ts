/** The schema of a fault: all ways in which the service can misbehave, with examples in docs/faults.md. */
import { z } from 'zod';
import { OPERATIONS, type Operation } from '../http/operation.js';
import { choice, duration, enabled, expects, share, strictMap, text, wholeNumber } from './value-schemas.js';

const records = wholeNumber(1, 1_000_000);
const difference = wholeNumber(-1_000_000_000, 1_000_000_000);
const column = text('the name of a column');
const columns = z.array(column, { error: expects('a list of column names') });

export const faultSchema = notEmpty(
  strictMap({
    status: wholeNumber(300, 599).optional(),
    retryAfter: duration.optional(),
    html: enabled.optional(),
    cut: choice(['before-reply', 'after-accepting', 'in-reply']).optional(),
    stall: duration.optional(),
    slow: strictMap({ bytesPerSecond: wholeNumber(1, 1_000_000_000) }).optional(),
    truncate: share.optional(),
    foreign: enabled.optional(),
    brokenBase64: enabled.optional(),
    records: notEmpty(
      strictMap({
        missing: records.optional(),
        doubled: records.optional(),
        strange: records.optional(),
        shuffled: enabled.optional(),
      }),
    ).optional(),
    keys: choice(['shifted', 'renumbered']).optional(),
    columns: notEmpty(
      strictMap({
        rename: z.record(z.string(), column, { error: expects('a map of old names to new ones') }).optional(),
        add: columns.optional(),
        drop: columns.optional(),
      }),
    ).optional(),
    counts: notEmpty(
      strictMap({
        successful: difference.optional(),
        failed: difference.optional(),
        total: difference.optional(),
      }),
    ).optional(),
    percentage: choice(['back']).optional(),
    unknownStatus: text('a status, such as QUEUED').optional(),
    forget: enabled.optional(),
    neverFinishes: enabled.optional(),
    expire: duration.optional(),
    fail: share.optional(),
  }),
);

/** One fault, or several at once. Durations are milliseconds of the service's time. */
export type Fault = Readonly<z.infer<typeof faultSchema>>;

export type FaultName = keyof Fault;

const OPERATIONS_OF: Readonly<Record<FaultName, readonly Operation[]>> = {
  status: OPERATIONS,
  retryAfter: OPERATIONS,
  html: OPERATIONS,
  cut: OPERATIONS,
  stall: OPERATIONS,
  slow: OPERATIONS,
  truncate: OPERATIONS,
  foreign: ['upload', 'track', 'download'],
  brokenBase64: ['download'],
  records: ['download'],
  keys: ['download'],
  columns: ['download'],
  counts: ['upload', 'track'],
  percentage: ['track'],
  unknownStatus: ['track'],
  forget: ['track', 'download'],
  neverFinishes: ['track', 'download'],
  expire: ['download'],
  fail: ['upload'],
};

/** Faults of a whole folio: all calls for the folio see the same. Other faults hit single calls. */
const FOLIO_FAULTS: ReadonlySet<FaultName> = new Set([
  'records',
  'keys',
  'columns',
  'counts',
  'forget',
  'neverFinishes',
  'expire',
]);

export function isFolioFault(name: FaultName): boolean {
  return FOLIO_FAULTS.has(name);
}

export function faultNames(fault: Fault): FaultName[] {
  return (Object.keys(fault) as FaultName[]).filter((name) => fault[name] !== undefined);
}

/** The operations that a fault can hit. */
export function operationsOf(name: FaultName, fault: Fault): readonly Operation[] {
  if (name === 'cut' && fault.cut === 'after-accepting') return ['upload'];
  if (name === 'counts' && fault.counts?.total === undefined) return ['track'];
  return OPERATIONS_OF[name];
}

function notEmpty<Schema extends z.ZodType<object>>(schema: Schema) {
  return schema.refine((map) => Object.keys(map).length > 0, { error: 'is empty' });
}
