import { formatTimeline, type TimelineEvent } from "@holdfast/simulation";
import { describe, expect, it } from "vitest";

const ask = (atMs: number, attempt: string, to: string): TimelineEvent => {
  return { atMs, who: `client ${attempt[0]}`, what: `for stock, ${attempt}`, attempt, to };
};
const grant = (atMs: number, attempt: string): TimelineEvent => {
  return { atMs, who: "node A", what: `grants ${attempt}`, attempt, isGrant: true };
};
const denial = (atMs: number, attempt: string): TimelineEvent => {
  return { atMs, who: "node A", what: `denies ${attempt}`, attempt };
};

describe("formatTimeline()", () => {
  it("formatTimeline() joins a request to several nodes into one line", () => {
    const events = [ask(1, "1.1", "A"), ask(1, "1.1", "B"), ask(2, "1.1", "C"), grant(3, "1.1")];
    expect(formatTimeline(events).split("\n").slice(1)).toEqual([
      "1.00  client 1  asks A, B for stock, 1.1",
      "2.00  client 1  asks C for stock, 1.1",
      "3.00  node A    grants 1.1",
    ]);
  });

  it("formatTimeline() counts the attempts that no node granted", () => {
    const events = [
      ...[ask(1, "1.1", "A"), ask(1, "1.1", "B"), denial(2, "1.1"), ask(3, "1.2", "A"), denial(4, "1.2")],
      ...[ask(5, "2.1", "A"), denial(6, "2.1"), ask(7, "1.3", "A"), grant(8, "1.3"), ask(9, "1.4", "A")],
    ];
    expect(formatTimeline(events).split("\n").slice(1)).toEqual([
      "1.00  client 1  makes attempts 1.1 to 1.2, not granted",
      "5.00  client 2  makes attempt 2.1, not granted",
      "7.00  client 1  asks A for stock, 1.3",
      "8.00  node A    grants 1.3",
      "9.00  client 1  makes attempt 1.4, not granted",
    ]);
  });
});
