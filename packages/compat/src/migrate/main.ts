#!/usr/bin/env node
/** The entry point of `npx @holdfast/compat migrate`. */
import { runMigration } from "./command-line.ts";

process.exitCode = await runMigration(process.argv.slice(2));
