import { fuzzSeed, isNightly } from "@holdfast/testkit";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Access, Register } from "../src/register.ts";

fc.configureGlobal({ seed: fuzzSeed, numRuns: isNightly ? 50_000 : 1_500 });

/** An access that is never answered has the answer at Infinity. */
function isUncertain({ answeredAtMs }: Access): boolean {
  return answeredAtMs === Infinity;
}

/** Decides by trying every order, with and without each access that is never answered. */
function hasOrder(left: readonly Access[], value: string | undefined): boolean {
  if (left.every(isUncertain)) return true;
  return left.some((access) => {
    const rest = left.filter((other) => other !== access);
    if (rest.some((other) => other.answeredAtMs < access.invokedAtMs)) return false;
    const needed = access.kind === "read" ? access.value : access.basis;
    if (needed !== undefined && value !== undefined && needed !== value) return false;
    return hasOrder(rest, access.value);
  });
}

/** Decides by the search. */
function isExplained(accesses: readonly Access[], maxStates = 100_000): boolean | undefined {
  const register = new Register(maxStates);
  const calls = accesses.map((access) => ({ atMs: access.invokedAtMs, access, isAnswer: false }));
  const answers = accesses.map((access) => ({ atMs: access.answeredAtMs, access, isAnswer: true }));
  const events = [...calls, ...answers].filter(({ atMs }) => atMs < Infinity).sort((a, b) => a.atMs - b.atMs);
  for (const { access, isAnswer } of events) {
    if (!isAnswer) register.invoke(access, !isUncertain(access));
    else if (register.answer(access) !== true) return maxStates < 100_000 ? undefined : false;
  }
  return true;
}

const values = fc.constantFrom("a", "b", "c");
const histories = fc.integer({ min: 1, max: 6 }).chain((count) =>
  fc
    .tuple(
      fc.shuffledSubarray(
        Array.from({ length: 2 * count }, (_, index) => index),
        { minLength: 2 * count },
      ),
      fc.array(
        fc.record({
          kind: fc.constantFrom("read" as const, "write" as const),
          value: values,
          basis: fc.option(values, { nil: undefined, freq: 3 }),
          isUncertain: fc.integer({ min: 0, max: 3 }).map((number) => number === 0),
        }),
        { minLength: count, maxLength: count },
      ),
    )
    .map(([moments, some]) =>
      some.map(({ isUncertain: isOpen, kind, basis, value }, id): Access => {
        const [one = 0, other = 0] = moments.slice(2 * id, 2 * id + 2);
        const isNeverAnswered = isOpen && kind === "write";
        const times = {
          invokedAtMs: Math.min(one, other),
          answeredAtMs: isNeverAnswered ? Infinity : Math.max(one, other),
        };
        const isUpdate = kind === "write" && !isNeverAnswered;
        return { id, kind, process: id, value, basis: isUpdate ? basis : undefined, ...times };
      }),
    ),
);

function access(kind: Access["kind"], value: string, invokedAtMs: number, answeredAtMs: number): Access {
  return { id: invokedAtMs, kind, process: invokedAtMs, value, invokedAtMs, answeredAtMs };
}

describe("Register", () => {
  test("Register agrees with a search of all orders", () => {
    const verdicts = { true: 0, false: 0 };
    fc.assert(
      fc.property(histories, (accesses) => {
        const expected = hasOrder(accesses, undefined);
        verdicts[`${expected}`] += 1;
        expect(isExplained(accesses)).toBe(expected);
      }),
    );
    expect(Math.min(verdicts.true, verdicts.false)).toBeGreaterThan(300);
  });

  test("Register gives up when too many states are possible", () => {
    const writes = Array.from({ length: 12 }, (_, index) => access("write", `v${index}`, index, 100 + index));
    expect(isExplained(writes, 1_000)).toBeUndefined();
    expect(isExplained(writes.slice(0, 8), 99_999)).toBe(true);
  });

  test("Register keeps the order of one process where clocks cannot tell", () => {
    const register = new Register(100);
    const [write, read] = [access("write", "a", 0, 1), access("read", "b", 2, 3)].map((one) => ({
      ...one,
      process: 1,
    }));
    for (const one of [write, read]) register.invoke(one as Access, true);
    expect([register.answer(write as Access), register.answer(read as Access)]).toEqual([true, false]);
  });
});
