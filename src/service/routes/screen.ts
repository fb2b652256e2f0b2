/** The last look at an uploaded file that could be accepted: before a folio is given for it. */

/** A file on disk, whole and well formed. */
export interface ScreenedFile {
  readonly path: string;
  readonly records: number;
}

/** Which records of a folio fail, whatever the predictor says; kept with it, so that a restart changes nothing. */
export interface MadeToFail {
  /** Share of the records, 0 to 1. */
  readonly failShare: number;
  /** Decides, with the folio and the record, which ones. */
  readonly failSeed: number;
}

/** @throws whatever refuses the file: nothing of it is kept then. */
export type Screen = (file: ScreenedFile) => Promise<MadeToFail>;

/** Accepts every file, and lets the predictor alone decide which records fail. */
export const acceptAll: Screen = async () => ({ failShare: 0, failSeed: 0 });
