import { describeBrokenNodes } from "@holdfast/conformance";
import { noServer, subjectsOver } from "./subject.ts";

describeBrokenNodes("sqliteNode()", { create: subjectsOver("libsql"), noServer });
