import { describeBrokenNodes } from "@holdfast/conformance";
import { limits, noServer, subjectsOver } from "./subject.ts";

describeBrokenNodes("sqliteNode()", { create: subjectsOver("libsql"), noServer, cannot: limits });
