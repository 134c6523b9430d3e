import pLimit from "p-limit";

/** A statement that must be true of this repository. */
export interface Claim {
  /** The statement, as a sentence. */
  readonly claim: string;
  /** Rejects if the statement is false. May resolve with a remark, such as the measured sizes. */
  check(): Promise<unknown>;
  /** Whether it can run beside its neighbours: it changes nothing that they read, and works on a busy machine. */
  readonly besideOthers?: boolean;
}

const checkedAtOnce = 2;

/**
 * Checks the claims that contain a word of the command line, or all of them if it has none, and prints the number of
 * those that hold as the last line. The program fails if one does not.
 */
export async function checkSelected(claims: readonly Claim[]): Promise<void> {
  const words = process.argv.slice(2).filter((arg) => !arg.startsWith("--"));
  const selected = claims.filter(({ claim }) => words.length === 0 || words.some((word) => claim.includes(word)));
  if (selected.length === 0) {
    console.error(`no claim contains: ${words.join(", ")}`);
    process.exit(1);
  }
  const { passed, failed } = await checkAll(selected);
  console.log(`\n${passed} passed, ${failed} failed`);
  if (failed > 0) process.exitCode = 1;
}

/** Checks all claims, even after a failure, and prints the outcome of each when it settles. */
export async function checkAll(claims: readonly Claim[]): Promise<{ passed: number; failed: number }> {
  const limit = pLimit(checkedAtOnce);
  const underWay: Promise<boolean>[] = [];
  for (const claim of claims) {
    if (!claim.besideOthers) await Promise.all(underWay);
    underWay.push(limit(() => checkOne(claim)));
    if (!claim.besideOthers) await underWay.at(-1);
  }
  const outcomes = await Promise.all(underWay);
  const passed = outcomes.filter((holds) => holds).length;
  return { passed, failed: outcomes.length - passed };
}

async function checkOne({ claim, check }: Claim): Promise<boolean> {
  const startedAt = performance.now();
  const seconds = () => `${((performance.now() - startedAt) / 1_000).toFixed(1)} s`;
  try {
    const remark = await check();
    console.log(`${claim} … ok, ${seconds()}${typeof remark === "string" ? `: ${remark}` : ""}`);
    return true;
  } catch (error) {
    console.log(`${claim} … FAILED, ${seconds()}\n${indented(error instanceof Error ? error.message : String(error))}`);
    return false;
  }
}

/** Fails a claim if there are problems. */
export function expectNone(problems: readonly string[]): void {
  if (problems.length > 0) throw new Error(problems.join("\n"));
}

function indented(text: string): string {
  return text.trimEnd().replaceAll(/^/gm, "    ");
}
