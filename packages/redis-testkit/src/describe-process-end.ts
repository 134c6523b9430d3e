import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { bundleProgram } from "@holdfast/testkit/bundle-program";
import { expect, test } from "vitest";
import { serverForTest } from "./adapter-tools.ts";

/** Registers the tests that a process ends on its own once its client is closed. The program calls `lockAndLeave`. */
export function describeProcessEnd(name: string, program: URL): void {
  test.each(["unwatch", "close"])(
    `${name} lets the process end when the client is closed: %s`,
    { timeout: 40_000 },
    async (leaving) => {
      const { port } = await serverForTest();
      const node = [await bundleProgram(program), `${port}`, leaving];
      const options = { timeout: 30_000, killSignal: "SIGKILL" } as const;
      const { stdout, stderr } = await promisify(execFile)(process.execPath, node, options);
      expect(stdout + stderr).toBe("done\n");
    },
  );
}
