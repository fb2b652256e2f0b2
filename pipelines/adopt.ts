/**
 * Adopts a folio: binds a folio that a person has found at the service to a chunk whose folio is unknown, lost or given
 * up.
 */
import {
  adoptCommand,
  attemptIn,
  budgetAt,
  type ChunkRow,
  type Config,
  ConfigError,
  checkCall,
  chunkRecords,
  createServiceText,
  FolioLostError,
  type FolioReport,
  isRestored,
  type OpenRun,
  type ParsedNames,
  presentTexts,
  type RunOptions,
  recogniseUpload,
  serviceIdentity,
  uploadNames,
} from '../src/index.js';
import { checkNoOtherOpen, withReadyRun } from './with-ready-run.js';

/** What `adopt` has bound. */
export interface Adoption {
  /** A run of the config's pipeline; its source must be unchanged. */
  readonly run: string;
  readonly chunk: number;
  readonly folio: string;
}

/** The bound folio; the next run, or `collect`, fetches its parts. */
export interface AdoptedChunk extends Adoption {
  readonly pipeline: string;
  /** Records of the chunk. */
  readonly records: number;
  /** The service's count, or null if it gives none. */
  readonly serviceRecords: number | null;
  /** The folio's status at the service. */
  readonly status: string;
  readonly rehearsal: boolean;
  /** How many records the run has at most, if it is a sample (`limit`); null if it has the whole source. */
  readonly sample: number | null;
}

/**
 * Uploads nothing. In a restored state it also binds folios of chunks that were sent after the backup. If the run was
 * published without the chunk, it is open again.
 * @throws ConfigError `RUN_UNKNOWN`, `ADOPT_RUN_NOT_LAST`, `ADOPT_CHUNK_UNKNOWN`, `ADOPT_CHUNK_STATE`,
 *   `ADOPT_FOLIO_BOUND`, `ADOPT_FOLIO_UNKNOWN`, `ADOPT_FILE_DIFFERS`, `ADOPT_RECORDS_DIFFER`,
 *   `ADOPT_SERVICE_DIFFERS`.
 */
export async function adopt(config: Config, what: Adoption, options?: RunOptions): Promise<AdoptedChunk> {
  checkCall('adopt', {
    config,
    what,
    run: what?.run,
    chunk: what?.chunk,
    folio: what?.folio,
    options,
  });
  return withReadyRun(config, { ...options, existing: what.run, sendsNothing: true }, async (run) => {
    await checkNoOtherOpen(run, 'adopt');
    const found = await findChunk(run, what.chunk);
    const chunk = found ?? (await cutUpTo(run, what.chunk));
    await checkUnbound(run, what);
    const report = await askForFolio(run, what);
    const { records, status, rehearsal } = report;
    checkAdoptedFile(run, chunk, what.folio, report, found === undefined);
    checkRecords(run, chunk, what.folio, records);
    await checkService(run, what.folio, rehearsal);
    if (found === undefined) await recordSentBefore(run, chunk);
    const attempt = attemptIn(report.fileName);
    const reply = { folio: what.folio, serviceRecords: records, rehearsal, attempt };
    await run.checkpoint.recordAdopted(run.id, chunk.number, reply, run.clock.now());
    return {
      run: run.id,
      chunk: chunk.number,
      folio: what.folio,
      pipeline: config.pipeline,
      records: chunk.records,
      serviceRecords: records,
      status,
      rehearsal,
      sample: run.source.limit ?? null,
    };
  });
}

/** Asks once: a folio that the service does not know is most likely a typing error. */
async function askForFolio(run: OpenRun, { chunk, folio }: Adoption): Promise<FolioReport> {
  try {
    return await run.api.track(folio, run.signal, AbortSignal.abort());
  } catch (error) {
    if (!(error instanceof FolioLostError)) throw error;
    throw new ConfigError(
      'ADOPT_FOLIO_UNKNOWN',
      `the service does not know folio ${folio}, so nothing was bound`,
      {
        hint: `compare the folio with what the service shows, then: ${adoptCommand(run.id, chunk, 'FOLIO')}; nothing was changed or paid`,
        facts: { run: run.id, chunk, folio },
      },
    );
  }
}

/** @returns undefined for a chunk that a restored state has not sent, and that was perhaps sent after its backup. */
async function findChunk(run: OpenRun, number: number): Promise<ChunkRow | undefined> {
  const chunk = await run.checkpoint.chunk(run.id, number);
  const facts = { run: run.id, chunk: number };
  if ((chunk === undefined || chunk.state === 'cut') && isRestored(run.config)) return undefined;
  if (chunk === undefined) throw unknownChunk(run, number);
  const { state, cause, folio } = chunk;
  if (state === 'ambiguous' || cause === 'AMBIGUOUS_HELD') return chunk;
  if (cause === 'FOLIO_LOST' || cause === 'FOLIO_ABANDONED') return chunk;
  const how = [state, cause, folio && `folio ${folio}`].filter((part) => part !== null);
  throw new ConfigError(
    'ADOPT_CHUNK_STATE',
    `chunk ${number} of run ${run.id} is ${how.join(', ')}: no folio can be bound to it`,
    {
      hint: 'a folio can be bound only to a chunk that may have been accepted, or whose folio is lost or was given up; see: foliopipe status',
      facts: { ...facts, state, cause, folio },
    },
  );
}

function unknownChunk(run: OpenRun, chunk: number): ConfigError {
  return new ConfigError('ADOPT_CHUNK_UNKNOWN', `run ${run.id} has no chunk ${chunk}`, {
    hint: `the uploaded file's name ends in -CHUNK-ATTEMPT-HASH.csv; see: foliopipe status --run ${run.id}`,
    facts: { run: run.id, chunk },
  });
}

/** Cuts the source up to a chunk. The same config gives the same chunks, so its hash is that of the file sent before. */
async function cutUpTo(run: OpenRun, number: number): Promise<ChunkRow> {
  let chunk = await run.checkpoint.chunk(run.id, number);
  if (chunk !== undefined) return chunk;
  for await (const cut of chunkRecords(run)()) {
    if (cut.number >= number) break;
  }
  chunk = await run.checkpoint.chunk(run.id, number);
  if (chunk === undefined) throw unknownChunk(run, number);
  return chunk;
}

/** Records an upload that was made after the backup from which the state was restored: it is paid for already. */
async function recordSentBefore(run: OpenRun, chunk: ChunkRow): Promise<void> {
  const now = run.clock.now();
  const unlimited = { ...run.config.budget, perRun: null, perDay: null, perMonth: null };
  const { fileName } = uploadNames(run, chunk);
  await run.checkpoint.recordIntent(run.id, chunk.number, fileName, now, budgetAt(unlimited, now));
  await run.checkpoint.recordAmbiguous(run.id, chunk.number, now, 'no-reply');
}

/** Checks that the folio belongs to no other chunk. A lost folio may be bound to its own chunk again. */
async function checkUnbound(run: OpenRun, { chunk, folio }: Adoption): Promise<void> {
  const upload = await run.checkpoint.uploadOf(serviceIdentity(run.config), folio);
  if (upload === undefined || (upload.run === run.id && upload.chunk === chunk)) return;
  throw new ConfigError(
    'ADOPT_FOLIO_BOUND',
    `folio ${folio} belongs to chunk ${upload.chunk} of run ${upload.run} already`,
    {
      hint: `look at the service for the folio of this chunk's file; that one is for the file ${upload.fileName}`,
      facts: { folio, run: upload.run, chunk: upload.chunk },
    },
  );
}

/**
 * Checks that a folio of a local service is not bound in a paid run, or vice versa (rule "A rehearsal never looks
 * real").
 */
async function checkService(run: OpenRun, folio: string, isLocal: boolean): Promise<void> {
  const { local, other } = await run.checkpoint.replyKinds(run.id);
  if (isLocal ? !other : !local) return;
  const [here, there] = isLocal ? ['is', 'was not'] : ['is not', 'was'];
  throw new ConfigError(
    'ADOPT_SERVICE_DIFFERS',
    `folio ${folio} ${here} a local service's, and run ${run.id} ${there} answered by one`,
    {
      hint: 'check service.baseUrl, and what answers there; foliopipe ledger shows what answered the run',
      facts: { run: run.id, folio },
    },
  );
}

function checkRecords(run: OpenRun, chunk: ChunkRow, folio: string, records: number | null): void {
  const facts = { run: run.id, chunk: chunk.number, folio };
  if (records === null) {
    const text = `the service does not say how many records folio ${folio} has; its results will be checked against the chunk`;
    run.logger.warn(facts, text);
    return;
  }
  if (records === chunk.records) return;
  throw new ConfigError(
    'ADOPT_RECORDS_DIFFER',
    `folio ${folio} has ${records} records, chunk ${chunk.number} has ${chunk.records}: nothing was bound`,
    {
      hint: `find the chunk of this folio by its file's name, then: ${adoptCommand(run.id, 'CHUNK', folio)}`,
      facts: { ...facts, folioRecords: records, chunkRecords: chunk.records },
    },
  );
}

/**
 * Checks that the folio belongs to the chunk's file, by the file name and the description at the service. Logs a
 * warning if they do not identify a file.
 * @param mustBeNamed throws in that case too: nothing else proves that this chunk was ever sent.
 * @throws ConfigError `ADOPT_FILE_DIFFERS`.
 */
function checkAdoptedFile(
  run: OpenRun,
  chunk: ChunkRow,
  folio: string,
  report: Pick<FolioReport, 'fileName' | 'description'>,
  mustBeNamed: boolean,
): void {
  const facts = { run: run.id, chunk: chunk.number, folio };
  const found = recogniseUpload(run, chunk, report);
  if (found.is === 'same') return;
  if (found.is === 'unknown' && !mustBeNamed) {
    const text = `the service does not say which file folio ${folio} is for; its results will be checked against the chunk`;
    run.logger.warn(facts, text);
    return;
  }
  const { before, after } = uploadNames(run, chunk).fileName;
  const show = createServiceText(run.config.service.token ?? { reveal: () => '' });
  const named = presentTexts([
    report.fileName !== null && `file ${show(report.fileName)}`,
    report.description !== null && `description "${show(report.description)}"`,
  ]);
  throw new ConfigError(
    'ADOPT_FILE_DIFFERS',
    `folio ${folio} has the ${named.join(' and the ')}; the file of chunk ${chunk.number} of run ${run.id} is ${before}1${after}, or a later attempt of it`,
    { hint: hintFor(run, chunk, folio, 'named' in found ? found.named : undefined), facts },
  );
}

function hintFor(run: OpenRun, chunk: ChunkRow, folio: string, named: ParsedNames | undefined): string {
  const { run: itsRun = run.id, chunk: itsChunk } = named ?? {};
  const isElsewhere = itsRun !== run.id || itsChunk !== chunk.number;
  if (itsChunk === undefined || !isElsewhere) {
    return `look at the service for the folio of this chunk's file; see: foliopipe status --run ${run.id}`;
  }
  return `that is chunk ${itsChunk} of run ${itsRun}: ${adoptCommand(itsRun, itsChunk, folio)}`;
}
