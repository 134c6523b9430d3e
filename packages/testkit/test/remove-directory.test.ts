import { once } from "node:events";
import { mkdir, mkdtemp, realpath, symlink, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { removeDirectory } from "../src/remove-directory.ts";

test("removeDirectory() lets Node.js resolve links to modules, after it has removed a socket", async () => {
  const directory = await realpath(await mkdtemp(join(tmpdir(), "holdfast-modules-")));
  onTestFinished(() => removeDirectory(directory));
  const [real, link, sockets] = ["real", "link", "sockets"].map((name) => join(directory, name)) as [
    string,
    string,
    string,
  ];
  await mkdir(real);
  await mkdir(sockets);
  await symlink(real, link);
  for (const name of ["one.cjs", "two.cjs"]) await writeFile(join(real, name), "");
  const { resolve } = createRequire(import.meta.url);
  expect(resolve(join(link, "one.cjs"))).toBe(join(real, "one.cjs"));

  const server = createServer().listen(join(sockets, "socket"));
  onTestFinished(() => void server.close());
  await once(server, "listening");
  await removeDirectory(sockets);
  expect(resolve(join(link, "two.cjs"))).toBe(join(real, "two.cjs"));
});
