#!/usr/bin/env node
/** The program `npx @holdfast/compat`. */
import { runMigration } from "./migrate/command-line.ts";

process.exitCode = runMigration(process.argv.slice(2));
