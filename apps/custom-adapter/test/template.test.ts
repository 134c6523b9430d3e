import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describeLockNode } from "@holdfast/conformance";
import { bundleRival } from "@holdfast/testkit/bundle-rival";
import { templateNode } from "../src/template.ts";

describeLockNode("templateNode()", {
  create: async () => {
    const folder = await mkdtemp(join(tmpdir(), "locks-"));
    const path = join(folder, "locks.db");
    const [node, rival] = [await templateNode(path), await templateNode(path)];
    return {
      node,
      rival,
      rivalModule: {
        ...(await bundleRival(new URL("./fixtures/template-rival.ts", import.meta.url))),
        options: { path },
      },
      close: async () => {
        node.close();
        rival.close();
        await rm(folder, { recursive: true });
      },
    };
  },
  noServer: "it is a file, which cannot be unreachable",
  cannot: { sharing: "a resource has one row, with one owner", floor: "the template leaves it out" },
});
