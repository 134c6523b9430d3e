/** Which code of core and membership a test file has executed, by V8's precise coverage. */
import { Session } from "node:inspector";
import { fileURLToPath } from "node:url";

/** A range of the code that vitest has loaded for a file, and how often it was executed. */
type Range = readonly [start: number, end: number, count: number];

/** For each source file, by its path, the ranges in each of its instances. */
export type Executed = Readonly<Record<string, readonly (readonly Range[])[]>>;

/** Starts to record. Returns a function that ends the record; it needs to know where in a script the code starts. */
export function recordExecution(): (startOf: (path: string) => number) => Executed {
  const session = new Session();
  session.connect();
  session.post("Profiler.enable");
  session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: true });
  return (startOf) => {
    const executed: Record<string, Range[][]> = {};
    session.post("Profiler.takePreciseCoverage", (_, { result }) => {
      for (const { url, functions } of result) {
        if (!/\/packages\/(core|membership)\/src\//.test(url)) continue;
        const path = fileURLToPath(url);
        const start = startOf(path);
        const ranges = functions.flatMap((each) => each.ranges);
        executed[path] ??= [];
        executed[path].push(ranges.map((each) => [each.startOffset - start, each.endOffset - start, each.count]));
      }
    });
    session.disconnect();
    return executed;
  };
}

/** Returns whether code was executed that differs in `changed`. */
export function isExecuted(instances: readonly (readonly Range[])[] = [], code: string, changed: string): boolean {
  let start = 0;
  while (start < code.length && code[start] === changed[start]) start++;
  let end = code.length;
  for (let other = changed.length; end > start && other > start && code[end - 1] === changed[other - 1]; other--) end--;
  return instances.some((ranges) => {
    const around = ranges.filter(([from, to]) => from < start && end < to);
    const innermost = around.toSorted((a, b) => a[1] - a[0] - (b[1] - b[0]))[0];
    return (innermost?.[2] ?? 1) > 0 || ranges.some(([from, to, count]) => start <= from && to <= end && count > 0);
  });
}
