import { Session } from "node:inspector/promises";
import { relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { root } from "../lib/workspace.ts";

/** The functions of one source file that ran. */
export interface FileCalls {
  /** The folder of the package in `packages`. */
  readonly package: string;
  /** The path in the package's `src`. */
  readonly file: string;
  readonly functions: readonly FunctionCalls[];
}

/** A function, and how often it was called. */
export interface FunctionCalls {
  /** Empty for an anonymous function. */
  readonly name: string;
  readonly calls: number;
}

/** Returns the sums over these files. */
export function totalsOf(files: readonly FileCalls[]): { files: number; functions: number; calls: number } {
  const functions = files.flatMap((file) => file.functions);
  const calls = functions.reduce((sum, each) => sum + each.calls, 0);
  return { files: files.length, functions: functions.length, calls };
}

/** Counts the calls of functions in this process. */
export interface CallCounter {
  /** Resolves with the calls since the last `take()`, file by file. */
  take(): Promise<FileCalls[]>;
  stop(): void;
}

/** A helper that tsx adds to name functions. It is in no source. */
const helperOfTsx = "__name";

/** Starts counting calls, with V8's precise coverage. */
export async function countCalls(): Promise<CallCounter> {
  const session = new Session();
  session.connect();
  await session.post("Profiler.enable");
  await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: true });
  return {
    async take() {
      const { result } = await session.post("Profiler.takePreciseCoverage");
      return result.flatMap(({ url, functions }) => {
        const source = sourceOf(url);
        const ran = functions
          .map(({ functionName, ranges }) => ({ name: functionName, calls: ranges[0]?.count ?? 0 }))
          .filter(({ name, calls }) => calls > 0 && name !== helperOfTsx);
        return source !== undefined && ran.length > 0 ? [{ ...source, functions: ran }] : [];
      });
    },
    stop: () => session.disconnect(),
  };
}

function sourceOf(url: string): Pick<FileCalls, "package" | "file"> | undefined {
  if (!url.startsWith("file:")) return undefined;
  const [packages, name, src, ...file] = relative(root, fileURLToPath(url)).split(sep);
  if (packages !== "packages" || name === undefined || src !== "src") return undefined;
  return { package: name, file: file.join("/") };
}
