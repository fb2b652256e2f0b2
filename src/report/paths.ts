/** Where the files beside an output stand (contract, "Files"). */

export function manifestPath(output: string): string {
  return `${output}.manifest.json`;
}

export function rejectsPath(output: string): string {
  return `${output}.rejects.csv`;
}

/** Every marker that may stand beside an output. */
export function markerPaths(output: string): string[] {
  return ['_SUCCESS', '_PARTIAL', '_REHEARSAL'].map((name) => `${output}.${name}`);
}

/** The marker of a publication; a rehearsal never looks real (law 11). */
export function markerPath(output: string, rehearsal: boolean, exitCode: number): string {
  return `${output}.${rehearsal ? '_REHEARSAL' : exitCode === 0 ? '_SUCCESS' : '_PARTIAL'}`;
}
