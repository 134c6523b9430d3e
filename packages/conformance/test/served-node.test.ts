import { isNightly } from "@holdfast/testkit";
import { describeLockNode, essentialTests } from "../src/index.ts";
import { servedSubject } from "./subjects.ts";

describeLockNode("a memory node behind a server", {
  ...(isNightly ? {} : { only: essentialTests }),
  create: () => servedSubject(),
});
if (isNightly) describeLockNode("a memory node with one counter behind a server", { create: () => servedSubject(1) });
