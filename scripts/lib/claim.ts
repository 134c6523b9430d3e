/** Something that must be true of this repository. */
export interface Claim {
  /** What is claimed, as a sentence. */
  readonly claim: string;
  /** Rejects when it is not true. When it resolves with text, that is a remark, such as the sizes that were measured. */
  check(): Promise<unknown>;
}

/** Checks one claim after another, also after one has failed, and prints each with its outcome. */
export async function checkAll(claims: readonly Claim[]): Promise<{ passed: number; failed: number }> {
  let passed = 0;
  let failed = 0;
  for (const { claim, check } of claims) {
    process.stdout.write(`${claim} … `);
    const startedAt = performance.now();
    const seconds = () => `${((performance.now() - startedAt) / 1_000).toFixed(1)} s`;
    try {
      const remark = await check();
      passed++;
      console.log(`ok, ${seconds()}${typeof remark === "string" ? `: ${remark}` : ""}`);
    } catch (error) {
      failed++;
      console.log(`FAILED, ${seconds()}\n${indented(error instanceof Error ? error.message : String(error))}`);
    }
  }
  return { passed, failed };
}

/** Fails a claim when anything was found that contradicts it. */
export function expectNone(problems: readonly string[]): void {
  if (problems.length > 0) throw new Error(problems.join("\n"));
}

function indented(text: string): string {
  return text.trimEnd().replaceAll(/^/gm, "    ");
}
