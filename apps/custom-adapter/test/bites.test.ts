// test/bites.test.ts
import { describeSuiteBites } from "@holdfast/conformance";
import { createSubject } from "./subject.ts";

describeSuiteBites("sqliteNode", { create: createSubject, noServer: "it is a file, which cannot be unreachable" });
