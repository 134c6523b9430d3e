/** Reads the endpoints as Prometheus does, and adds up their metrics. */
export async function scrape(urls: readonly string[], signal: AbortSignal): Promise<string> {
  const texts = await Promise.all(urls.map(async (url) => (await fetch(url, { signal })).text()));
  return addUp(texts);
}

/**
 * Adds up metrics in Prometheus's text format, series by series. Sums are right for counters, for histograms, and for the
 * number of locks held; the demo has no other metrics.
 */
export function addUp(texts: readonly string[]): string {
  const metrics = new Map<string, Map<string, number>>();
  for (const text of texts) {
    for (const [, head = "", body = ""] of text.matchAll(metric)) {
      const values = metrics.get(head) ?? new Map<string, number>();
      metrics.set(head, values);
      for (const [, series = "", value] of body.matchAll(sample)) {
        values.set(series, (values.get(series) ?? 0) + Number(value));
      }
    }
  }
  return [...metrics].map(([head, values]) => head + linesOf(values)).join("");
}

/** The comments about a metric, and its samples. */
const metric = /((?:^#.*\n)+)((?:^[^#\n].*\n?)+)/gm;
const sample = /^(.+) (\S+)$/gm;

function linesOf(values: ReadonlyMap<string, number>): string {
  return [...values].map(([series, value]) => `${series} ${value}\n`).join("");
}
