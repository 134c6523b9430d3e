import { expect, test } from "vitest";
import { fencedValues, StaleFenceError } from "../src/fenced-values.ts";
import { startWorld } from "./world.ts";

test("fencedValues() refuses smaller tokens from the first read on, for all keys of an access or none", async () => {
  const { data } = await startWorld();
  const values = fencedValues(data);
  expect(await values.read(["a", "b"], 5)).toEqual([null, null]);
  await values.write({ a: "1", b: "2" }, 5);
  expect(await values.read(["b"], 7)).toEqual(["2"]);

  const refused = new StaleFenceError("b", 6, 7);
  await expect(values.write({ a: "late", b: "late" }, 6)).rejects.toThrow(refused);
  await expect(values.read(["a", "b"], 6)).rejects.toThrow(refused);
  expect(await values.read(["a"], 5)).toEqual(["1"]);
});
