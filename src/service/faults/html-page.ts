/** The page of a proxy that stands in front of the service, where JSON was wanted. */

export function htmlPage(status: number): string {
  const title = status < 400 ? 'Please sign in' : `${status} Service trouble`;
  return `<!doctype html>\n<html><head><title>${title}</title></head><body><h1>${title}</h1></body></html>\n`;
}
