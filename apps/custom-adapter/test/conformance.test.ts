// test/conformance.test.ts
import { describeLockNode } from "@holdfast/conformance";
import { createSubject } from "./subject.ts";

describeLockNode("sqliteNode", { create: createSubject, noServer: "it is a file, which cannot be unreachable" });
