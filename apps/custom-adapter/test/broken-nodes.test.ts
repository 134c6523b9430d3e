// test/broken-nodes.test.ts
import { describeBrokenNodes } from "@holdfast/conformance";
import { createSubject } from "./subject.ts";

describeBrokenNodes("sqliteNode", { create: createSubject, noServer: "it is a file, which cannot be unreachable" });
