import { describeLockNode } from "@holdfast/conformance";
import { drivers, limits, noServer, subjectsOver } from "./subject.ts";

for (const driver of drivers) {
  describeLockNode(`sqliteNode() over ${driver}`, { create: subjectsOver(driver), noServer, cannot: limits });
}
