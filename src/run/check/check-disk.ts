/** Checks before a run pays that the disks have room for what it will write. */
import { statSync } from 'node:fs';
import { stat, statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import { reserveBytes } from '../../checkpoint/journal/disk-reserve.js';
import type { Config } from '../../config/schema.js';
import { isFolder } from '../../config/sections/output-names.js';
import { TroubleError } from '../../errors.js';
import { workFolderOf } from '../../files/work-file.js';
import type { Logger } from '../../logger.js';
import { outputFormat } from '../../output-format.js';
import { formatBytes, formatCount } from '../../quantities.js';
import { shareOf } from '../../source/column-bytes.js';
import type { Bytes, Source } from '../../types.js';

/** About how many bytes an answer, and the lineage, add to a row. */
const ANSWER_BYTES = 60;
const LINEAGE_BYTES = 110;
/** How many times gzip makes text smaller: a source whose unzipped size is not known, and parts. */
const SOURCE_GZIP = 4;
const PART_GZIP = 5;
/** The number of a record that is sent, and its delimiter. */
const KEY_BYTES = 8;
/** Bytes of a chunk in the database and in the journal; and in the database's log, which then is overwritten. */
const CHUNK_ROWS_BYTES = 2 * 1024;
const CHUNK_LOG_BYTES = 64 * 1024;
const MAX_LOG_BYTES = 4 * 1024 * 1024;
/** About how many times smaller an output is if it is compressed or Parquet. */
const ENCODED = 2;
/** Bytes of an answer in a segment, and of its entry in a lane while the segment is made. */
const SEGMENT_BYTES = 40 + 120;

/** What a run has still to write. */
export interface StillToWrite {
  readonly source: Source;
  /** Records whose answers are not stored yet. */
  readonly records: number;
  /** Whether the run reuses answers: it keeps its chunk files until it is published, and makes a segment. */
  readonly keepsAnswers: boolean;
  /** The work file, which grows to the output; undefined if there is none yet. */
  readonly workFile?: string;
  /** The path of the reserve that a killed process may have left in the state; undefined for a new run. */
  readonly reserve?: string;
}

/** The room that something needs, or that a disk has. */
interface Room {
  readonly bytes: Bytes;
  /** How many more files. */
  readonly files: number;
}

/** What is known of the disk of a folder. */
export interface Disk extends Room {
  /** Folders with the same id are on the same disk. */
  readonly id: string;
}

/** What a disk must have free, and has. */
export interface DiskNeed {
  /** A folder on it. */
  readonly folder: string;
  /** What is written there, such as `its output`. */
  readonly what: string;
  readonly needed: Room;
  /** Null if the system does not say. Files: null if they are not limited. */
  readonly free: { readonly bytes: Bytes; readonly files: number | null } | null;
}

type DiskConfig = Pick<Config, 'stateDir' | 'state' | 'upload' | 'output' | 'chunks' | 'concurrency'>;

/**
 * The estimate is rough; a disk that fills up all the same ends the run, which goes on when there is room.
 * @param options.yes only warns.
 * @param diskOf asks the system; undefined if it does not know.
 * @returns what each disk must have free.
 * @throws TroubleError `DISK_TOO_SMALL` with the figures.
 */
export async function checkDisk(
  config: DiskConfig,
  write: StillToWrite,
  options: { readonly yes?: boolean | undefined; readonly logger: Logger },
  diskOf: (folder: string) => Promise<Disk | undefined> = diskOfFolder,
): Promise<readonly DiskNeed[]> {
  const { stateDir, output } = config;
  const folder = workFolderOf(output.path, stateDir);
  const { state, published } = roomNeeded(config, write);
  const [stateDisk, outputDisk] = [await diskOf(stateDir), await diskOf(folder)];
  const ofState = config.state === null ? 'its state' : 'its scratch files';
  const isOne = stateDisk !== undefined && stateDisk.id === outputDisk?.id;
  const both = { bytes: state.bytes + published.bytes, files: state.files + published.files };
  const checked: readonly Checked[] = isOne
    ? [{ folder, disk: stateDisk, needed: both, what: `its output, and ${ofState} on the same disk` }]
    : [
        { folder: stateDir, disk: stateDisk, needed: state, what: ofState },
        { folder, disk: outputDisk, needed: published, what: 'its output' },
      ];
  for (const one of checked) {
    const error = tooSmall(one);
    if (error === undefined) continue;
    if (!options.yes) throw error;
    options.logger.warn(error.facts, `${error.message}; the run goes on anyway, because of --yes`);
  }
  return checked.map(({ folder: on, what, needed, disk }) => ({
    folder: on,
    what,
    needed,
    free:
      disk === undefined
        ? null
        : { bytes: disk.bytes, files: Number.isFinite(disk.files) ? disk.files : null },
  }));
}

/** An estimate of what a run writes into its state folder, and beside its output. */
export function roomNeeded(
  { upload, output, chunks, concurrency }: Omit<DiskConfig, 'stateDir'>,
  { source, records: toStore, keepsAnswers, workFile, reserve }: StillToWrite,
): { readonly state: Room; readonly published: Room } {
  const text = textBytes(source);
  const records = Math.max(source.records - source.rejected, 1);
  const columns = output.columns === 'all' ? 1 : shareOf(source, output.columns);
  const row = ANSWER_BYTES + (output.lineage ? LINEAGE_BYTES : 0);
  const written = sizeOf(workFile);
  const content = text * columns + records * row;
  const isCut = isFolder(output.path) && output.maxFileBytes !== null && content > output.maxFileBytes;
  const copy = isCut ? content : content / ENCODED;
  const encoded = isCut || outputFormat(output.path) !== 'csv' ? copy : 0;
  const published = Math.max(content + encoded - written, 0);

  const record = (text * shareOf(source, Object.values(upload.columns))) / records + KEY_BYTES;
  const chunkRecords = Math.max(Math.min(chunks.maxRecords, chunks.maxBytes / record), 1);
  const open = (concurrency.folios + concurrency.uploads) * chunkRecords;
  const kept = keepsAnswers ? toStore : Math.min(toStore, open);
  const parts = (toStore * (record + ANSWER_BYTES)) / PART_GZIP;
  const toSend = Math.ceil(toStore / chunkRecords);
  const database = toSend * CHUNK_ROWS_BYTES + Math.min(toSend * CHUNK_LOG_BYTES, MAX_LOG_BYTES);
  const reserved = toStore === 0 ? 0 : Math.max(reserveBytes(concurrency.uploads) - sizeOf(reserve), 0);
  const answers = keepsAnswers ? toStore * SEGMENT_BYTES : 0;
  const state = parts + kept * record + answers + database + reserved;
  const files = 3 * toSend;
  return {
    state: { bytes: Math.ceil(state), files },
    published: { bytes: Math.ceil(published), files: OUTPUT_FILES },
  };
}

/** The unzipped size of a source, about; of a sample: that of its records. */
function textBytes({ files, limit, columnBytes, records }: Source): Bytes {
  if (limit !== undefined && columnBytes !== undefined) {
    return records * columnBytes.reduce((sum, bytes) => sum + bytes + 1, 0);
  }
  return files.reduce(
    (sum, { bytes, unzippedBytes, dialect }) =>
      sum + (unzippedBytes ?? bytes * (dialect.gzip ? SOURCE_GZIP : 1)),
    0,
  );
}

function sizeOf(path: string | undefined): Bytes {
  return (path && statSync(path, { throwIfNoEntry: false })?.size) || 0;
}

/** The output, the files beside it, and their work files. */
const OUTPUT_FILES = 16;

interface Checked {
  readonly folder: string;
  readonly disk: Disk | undefined;
  readonly needed: Room;
  /** What is written there. */
  readonly what: string;
}

function tooSmall({ folder, disk, needed, what }: Checked): TroubleError | undefined {
  if (disk === undefined || (disk.bytes >= needed.bytes && disk.files >= needed.files)) return undefined;
  const [has, needs] =
    disk.bytes < needed.bytes
      ? [formatBytes(disk.bytes), formatBytes(needed.bytes)]
      : [`${formatCount(disk.files)} inodes`, formatCount(needed.files)];
  return new TroubleError(
    'DISK_TOO_SMALL',
    `the disk of ${folder} has ${has} free, and the run needs about ${needs} there for ${what}`,
    {
      hint: `nothing was sent now; make room there${what === 'its output' ? '' : ' (foliopipe runs prune removes the results of old runs)'}, then run the same command again; if the estimate is wrong, --yes goes on anyway`,
      facts: {
        folder,
        free: disk.bytes,
        needed: needed.bytes,
        freeFiles: Number.isFinite(disk.files) ? disk.files : null,
        neededFiles: needed.files,
      },
    },
  );
}

/** The disk of a folder, or of the first of its parents that exists; undefined if not known. */
export async function diskOfFolder(folder: string): Promise<Disk | undefined> {
  try {
    const { type, blocks, bfree, bsize, bavail, files, ffree } = await statfs(folder);
    // Parts of one disk may have different device numbers, but they show the same figures.
    const id = files === 0 ? `${type} ${blocks} ${bsize} ${bfree}` : String((await stat(folder)).dev);
    return { id, bytes: bavail * bsize, files: files === 0 ? Number.POSITIVE_INFINITY : ffree };
  } catch {
    const parent = dirname(folder);
    return parent === folder ? undefined : diskOfFolder(parent);
  }
}
