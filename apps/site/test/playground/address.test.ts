import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Address, readAddress, writeAddress } from "../../src/playground/address.ts";
import { stories } from "../../src/playground/stories.ts";

const atMs = fc.double({ min: 0, max: 1e6, noNaN: true }).map((ms) => ms + 0); // no negative zero
const deed = fc.record({
  action: fc.constantFrom("crash", "cut-1"),
  target: fc.constantFrom("A", "client 1"),
  atMs,
});
const address: fc.Arbitrary<Address> = fc.record({
  story: fc.constantFrom(...Object.keys(stories)),
  deeds: fc.array(deed, { maxLength: 6 }),
  atMs,
});

describe("writeAddress()", () => {
  it("writeAddress() writes what readAddress() reads, as an address of the browser", () => {
    fc.assert(
      fc.property(address, (each) => {
        const text = writeAddress(each);
        expect(readAddress(text)).toEqual(each);
        expect(new URL(text, "https://example.org/playground").hash).toBe(text);
      }),
    );
  });
});

describe("readAddress()", () => {
  it.each([
    ["", { story: Object.keys(stories)[0], deeds: [], atMs: 0 }],
    ["#story=restart&t=soon", { story: "restart", deeds: [], atMs: 0 }],
    [
      "#story=free&do=crash+C+30&do=pause%20client%201%2080.5&t=90",
      {
        story: "free",
        deeds: [
          { action: "crash", target: "C", atMs: 30 },
          { action: "pause", target: "client 1", atMs: 80.5 },
        ],
        atMs: 90,
      },
    ],
  ])("readAddress() reads %s", (hash, wanted) => {
    expect(readAddress(hash)).toEqual(wanted);
  });
});
