import { execFileSync } from "node:child_process";
import { resolve } from "node:path";
import { expect, test } from "vitest";
import { sidebar } from "../src/pages/navigation.ts";
import { isPage, pageOf, routeOf } from "../src/pages/routes.ts";

const root = resolve(import.meta.dirname, "../../..");
const listed = sidebar.flatMap(({ items = [] }) => items.map(({ link = "" }) => link));
const routes = execFileSync("git", ["ls-files", "*.md"], { cwd: root, encoding: "utf8" })
  .split("\n")
  .filter(isPage)
  .map((file) => routeOf(pageOf(file)));

test("sidebar lists every page once, except decisions", () => {
  const expected = routes.filter((route) => !route.startsWith("/contributing/decisions/"));
  expect(listed.filter((link) => !/^\/(source|reference)\//.test(link)).sort()).toEqual(expected.sort());
});

test("routeOf() gives every page a route of its own", () => {
  expect(new Set(routes).size).toBe(routes.length);
});
