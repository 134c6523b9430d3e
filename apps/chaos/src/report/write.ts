import type { ChaosOptions } from "../options.ts";
import type { Result } from "../run.ts";

export async function writeReport(directory: string, _options: ChaosOptions, _results: readonly Result[]): Promise<string> {
  return directory;
}
