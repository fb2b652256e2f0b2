/** Whether a folio that is to be adopted is of the chunk's file, as far as the service tells of which file it is. */
import {
  adoptCommand,
  type ChunkRow,
  ConfigError,
  createServiceText,
  type FolioReport,
  type OpenRun,
  type ReadNames,
  recogniseUpload,
  uploadNames,
} from '../src/index.js';

/** Warns where the service tells too little. @throws ConfigError `ADOPT_FILE_DIFFERS`. */
export function checkAdoptedFile(
  run: OpenRun,
  chunk: ChunkRow,
  folio: string,
  told: Pick<FolioReport, 'fileName' | 'description'>,
): void {
  const facts = { run: run.id, chunk: chunk.number, folio };
  const found = recogniseUpload(run, chunk, told);
  if (found.is === 'same') return;
  if (found.is === 'unknown') {
    const text = `the service does not say of which file folio ${folio} is; its results will be held to the chunk`;
    run.logger.warn(facts, text);
    return;
  }
  const { fileName } = uploadNames(run, chunk);
  const show = createServiceText(run.config.service.token ?? { reveal: () => '' });
  const named = [
    ...(told.fileName === null ? [] : [`file ${show(told.fileName)}`]),
    ...(told.description === null ? [] : [`description "${show(told.description)}"`]),
  ];
  throw new ConfigError(
    'ADOPT_FILE_DIFFERS',
    `folio ${folio} has the ${named.join(' and the ')}; the file of chunk ${chunk.number} of run ${run.id} is ${fileName(1)}, or a later attempt of it`,
    { hint: hintFor(run, chunk, folio, found.named), facts },
  );
}

function hintFor(run: OpenRun, chunk: ChunkRow, folio: string, named: ReadNames | undefined): string {
  const { run: itsRun = run.id, chunk: itsChunk } = named ?? {};
  const isElsewhere = itsRun !== run.id || itsChunk !== chunk.number;
  if (itsChunk === undefined || !isElsewhere) {
    return `look at the service for the folio of this chunk's file; see: foliopipe status --run ${run.id}`;
  }
  return `that is chunk ${itsChunk} of run ${itsRun}: ${adoptCommand(itsRun, itsChunk, folio)}`;
}
