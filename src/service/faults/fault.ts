/** Every way in which the service can be told to misbehave, as checked data; docs/faults.md shows each. */
import { z } from 'zod';
import { OPERATIONS, type Operation } from '../http/operation.js';
import { choice, duration, mapOf, share, text, told, wholeNumber, yes } from './fault-values.js';

const records = wholeNumber(1, 1_000_000);
const difference = wholeNumber(-1_000_000_000, 1_000_000_000);
const column = text('the name of a column');
const columns = z.array(column, { error: told('a list of column names') });

export const faultSchema = notEmpty(
  mapOf({
    status: wholeNumber(300, 599).optional(),
    retryAfter: duration.optional(),
    html: yes.optional(),
    cut: choice(['before-reply', 'after-accepting', 'in-reply']).optional(),
    stall: duration.optional(),
    slow: mapOf({ bytesPerSecond: wholeNumber(1, 1_000_000_000) }).optional(),
    truncate: share.optional(),
    foreign: yes.optional(),
    brokenBase64: yes.optional(),
    records: notEmpty(
      mapOf({
        missing: records.optional(),
        doubled: records.optional(),
        strange: records.optional(),
        shuffled: yes.optional(),
      }),
    ).optional(),
    keys: choice(['shifted', 'renumbered']).optional(),
    columns: notEmpty(
      mapOf({
        rename: z.record(z.string(), column, { error: told('a map of old names to new ones') }).optional(),
        add: columns.optional(),
        drop: columns.optional(),
      }),
    ).optional(),
    counts: notEmpty(
      mapOf({
        successful: difference.optional(),
        failed: difference.optional(),
        total: difference.optional(),
      }),
    ).optional(),
    percentage: choice(['back']).optional(),
    unknownStatus: text('a status, such as QUEUED').optional(),
    forget: yes.optional(),
    neverFinishes: yes.optional(),
    expire: duration.optional(),
    fail: share.optional(),
  }),
);

/** One fault, or several at once. Spans are milliseconds of the service's time. */
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

/** Faults that belong to a folio: it has them or not, so that it says the same whenever it is asked. */
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
  return schema.refine((map) => Object.keys(map).length > 0, { error: 'says nothing' });
}
