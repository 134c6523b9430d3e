/**
 * Everything that is tried with a consumer's project. Each trial is a cell of a table in docs/generated/consumers.md.
 */
import { cp, readdir, readFile } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { delimiter, dirname, join } from "node:path";
import pLimit from "p-limit";
import { run } from "../lib/run.ts";
import { bundle, runInChromium } from "./browsers.ts";
import { type ConsumerProject, fixtures } from "./project.ts";
import type { Chromium, Runtime } from "./runtimes.ts";
import { browserSubjects, type Compiler, compile, emit, settingsFor } from "./types.ts";

/** One cell of a table. */
export interface Outcome {
  readonly table: Table;
  readonly row: string;
  readonly column: string;
  /** Why it failed, if it did. */
  readonly problem?: string;
}

/** The sections of the page, each with a table. */
export const tables = ["Types", "Programs", "CommonJS projects", "Browsers"] as const;

export type Table = (typeof tables)[number];

/** What to try a project with. */
export interface Selection {
  readonly compilers: readonly Compiler[];
  readonly runtimes: readonly Runtime[];
  readonly chromium: Chromium;
  /** Leaves out the tests that READMEs show, which take a minute, and the projects of `fixtures`. */
  readonly programsOnly?: boolean;
}

interface Trial extends Omit<Outcome, "problem"> {
  /** Rejects if the trial fails. */
  attempt(): Promise<unknown>;
  /** Whether it waits most of the time, so that other trials can run beside it. */
  readonly waits?: boolean;
}

/** Runs all trials: those that compute, one for each processor at a time. */
export async function tryAll(project: ConsumerProject, selection: Selection): Promise<Outcome[]> {
  await emit(project);
  const { programsOnly = false } = selection;
  const nodes = selection.runtimes.filter(({ isNode }) => isNode);
  const trials = [
    ...selection.compilers.flatMap((compiler) => typeTrials(project, compiler)),
    ...selection.runtimes.flatMap((runtime) => programTrials(project, runtime, programsOnly)),
    ...nodes.flatMap((runtime) => commandTrials(project, runtime)),
    ...(programsOnly ? [] : await Promise.all(nodes.map((runtime) => fixtureTrials(project, runtime)))).flat(),
    ...browserTrials(project, selection.chromium),
  ];
  const computing = pLimit(availableParallelism());
  const waiting = pLimit(1);
  return Promise.all(trials.map((trial) => (trial.waits ? waiting : computing)(outcomeOf, trial)));
}

async function outcomeOf({ table, row, column, attempt }: Trial): Promise<Outcome> {
  const problem = await attempt().then(
    () => ({}),
    (error) => ({ problem: String(error) }),
  );
  return { table, row, column, ...problem };
}

function typeTrials(project: ConsumerProject, compiler: Compiler): Trial[] {
  return settingsFor(compiler).map(({ name, file }) => ({
    table: "Types",
    row: `TypeScript ${compiler.version}`,
    column: name,
    attempt: () => compile(project, compiler.tsc, file),
  }));
}

const programTimeoutMs = 60_000;

/** Runs the programs of each subject in both forms. Tests that a README shows run in Node, and have to be imported. */
function programTrials(project: ConsumerProject, runtime: Runtime, programsOnly: boolean): Trial[] {
  const { directory, programs, testFolders } = project;
  const subjects = [...new Set(programs.map(({ subject }) => subject))].sort(bySubject);
  const hasTests = runtime.isNode && !programsOnly;
  return ["import", "require"].flatMap((form) =>
    subjects.map((subject): Trial => {
      const tests = form === "import" && hasTests ? testFolders.get(subject) : undefined;
      return {
        table: "Programs",
        row: `${runtime.name}, \`${form === "import" ? "import" : "require()"}\``,
        column: subject,
        waits: tests !== undefined,
        async attempt() {
          for (const { name } of programs.filter((program) => program.subject === subject)) {
            await runPrinting(runtime, [`out/${name}.${form === "import" ? "js" : "cjs"}`], directory);
          }
          if (tests !== undefined) await runTests(runtime, tests, directory);
        },
      };
    }),
  );
}

/** Orders the subjects as the packages are ordered, after the README of the repository, with the test suite last. */
function bySubject(a: string, b: string): number {
  const rank = (subject: string) => (subject === "README.md" ? 0 : subject === "conformance" ? 2 : 1);
  return rank(a) - rank(b) || a.localeCompare(b);
}

async function runPrinting(runtime: Runtime, args: readonly string[], directory: string): Promise<string> {
  const options = { env: { DENO_DIR: join(directory, "deno") }, timeoutMs: programTimeoutMs };
  const printed = await run(runtime.binary, [...runtime.args, ...args], directory, options);
  if (printed.trim() === "") throw new Error(`${runtime.name}: ${args.join(" ")} printed nothing`);
  return printed;
}

/** All tests of the suite, and some of the broken nodes: the tests of the adapters run all of those. */
const testNames = /^(?!.*caught by)|caught by "release/;

async function runTests({ binary }: Runtime, folder: string, directory: string): Promise<void> {
  const command = ["node_modules/vitest/vitest.mjs", "run", "--root", folder, "--testNamePattern", testNames.source];
  const printed = await run(binary, command, directory, { timeoutMs: 300_000 });
  if (!/Tests .*?[1-9]\d* passed/.test(printed)) throw new Error(`no test ran:\n${printed}`);
}

/** Runs the commands as npm has installed them, without a server: `holdfast` with a program, and `compat` as a dry run. */
function commandTrials({ directory, commands }: ConsumerProject, runtime: Runtime): Trial[] {
  const program = [runtime.binary, "-e", "console.log(process.env.HOLDFAST_RESOURCE)"];
  const uses: Readonly<Record<string, readonly [args: readonly string[], output: string]>> = {
    cli: [["run", "--memory", "a trial", "--", ...program], "a trial"],
    compat: [["migrate", "--dry-run", "programs"], "0 files would change, 0 places left"],
  };
  return [...commands].map(([subject, command]) => ({
    table: "Programs",
    row: `${runtime.name}, \`import\``,
    column: subject,
    async attempt() {
      const [args, output] = uses[subject] ?? [[], "nothing, as no trial is written for it"];
      const printed = await runPrinting(runtime, [command, ...args], directory);
      if (printed.trim() !== output) throw new Error(`${runtime.name}: ${command} printed ${JSON.stringify(printed)}`);
    },
  }));
}

/** Runs the script `try` of each CommonJS project in `fixtures`, in a copy, with this Node on the PATH. */
async function fixtureTrials({ directory }: ConsumerProject, runtime: Runtime): Promise<Trial[]> {
  const copies = join(directory, "by-runtime", runtime.name.replaceAll(/\W/g, "-"));
  const path = [dirname(runtime.binary), join(directory, "node_modules/.bin"), process.env.PATH].join(delimiter);
  const folders = (await readdir(fixtures, { withFileTypes: true })).filter((entry) => entry.isDirectory());
  const trials = folders.map(async ({ name }): Promise<Trial | undefined> => {
    await cp(join(directory, name), join(copies, name), { recursive: true });
    const manifest = await readFile(join(copies, name, "package.json"), "utf8").catch(() => undefined);
    if (manifest === undefined) return undefined; // the settings of TypeScript
    const { description, scripts } = JSON.parse(manifest);
    return {
      table: "CommonJS projects",
      row: runtime.name,
      column: description,
      async attempt() {
        const options = { env: { PATH: path }, timeoutMs: 120_000 };
        const printed = await run("sh", ["-c", scripts.try], join(copies, name), options);
        if (printed.trim() === "") throw new Error(`${name} printed nothing`);
      },
    };
  });
  return (await Promise.all(trials)).filter((trial) => trial !== undefined);
}

/** Runs the examples of the packages that run in browsers. */
function browserTrials(project: ConsumerProject, chromium: Chromium): Trial[] {
  const examples = project.programs.filter(
    ({ name, kind, subject }) => kind === "example" && browserSubjects.includes(subject) && name.startsWith(subject),
  );
  return examples.map(({ name, subject }) => ({
    table: "Browsers",
    row: `${chromium.name}, headless`,
    column: subject,
    attempt: async () => runInChromium(chromium, await bundle(project.directory, `programs/${name}.cts`)),
  }));
}
