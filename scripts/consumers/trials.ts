/** Everything that can be tried with a consumer's project, as the cells of tables. */
import { availableParallelism } from "node:os";
import pLimit from "p-limit";
import { browserExamples, bundle, runInBareContext } from "./browser.ts";
import { type Chromium, runInChromium } from "./chromium.ts";
import { commonJsUses, tryCommonJs } from "./commonjs.ts";
import { type Compiler, emit, type Setting, typeCheck } from "./compilers.ts";
import type { ConsumerProject } from "./project.ts";
import { type Form, type Runtime, runSubject, runTests, runUnderLock } from "./runtimes.ts";

/** One cell of a table: what was tried, and what came of it. */
export interface Outcome {
  readonly table: string;
  readonly row: string;
  readonly column: string;
  readonly cell: string;
  /** Why it failed, if it did. */
  readonly problem?: string;
}

/** What to try a project with. */
export interface Selection {
  readonly typeChecks: readonly TypeCheck[];
  readonly runtimes: readonly Runtime[];
  readonly chromium?: Chromium | undefined;
}

export interface TypeCheck {
  readonly compiler: Compiler;
  readonly setting: Setting;
}

interface Trial extends Pick<Outcome, "table" | "row" | "column"> {
  readonly attempt: () => Promise<string>;
}

export const typesTable = "Types";
export const programsTable = "Programs";
export const commonJsTable = "CommonJS projects";
export const browserTable = "Browsers";

/** Tries everything, as much at once as there are processors. */
export async function tryAll(project: ConsumerProject, selection: Selection): Promise<Outcome[]> {
  await emit(project);
  const nodes = selection.runtimes.filter(({ isNode }) => isNode);
  const trials = [
    ...selection.typeChecks.map((check) => typeTrial(project, check)),
    ...selection.runtimes.flatMap((runtime) => programTrials(project, runtime)),
    ...nodes.flatMap((runtime) => commandTrials(project, runtime)),
    ...nodes.flatMap((runtime) => commonJsTrials(project, runtime)),
    ...browserTrials(project, selection.chromium),
  ];
  const limit = pLimit(availableParallelism());
  return Promise.all(trials.map((trial) => limit(outcome, trial)));
}

async function outcome({ attempt, ...place }: Trial): Promise<Outcome> {
  try {
    return { ...place, cell: await attempt() };
  } catch (error) {
    return { ...place, cell: "✗", problem: String(error) };
  }
}

function typeTrial(project: ConsumerProject, { compiler, setting }: TypeCheck): Trial {
  return {
    table: typesTable,
    row: `TypeScript ${compiler.version}`,
    column: setting.name,
    attempt: () => typeCheck(project, compiler, setting),
  };
}

function programTrials(project: ConsumerProject, runtime: Runtime): Trial[] {
  const subjects = new Set(project.programs.map(({ subject }) => subject));
  const forms: Form[] = ["import", "require"];
  return forms.flatMap((form) =>
    [...subjects].map((subject) => ({
      table: programsTable,
      row: `${runtime.name}, \`${form === "import" ? "import" : "require()"}\``,
      column: subject,
      attempt: async () => {
        const cell = await runSubject(project, runtime, form, subject);
        const tests = project.testFolders.get(subject);
        return tests && form === "import" && runtime.isNode ? runTests(project, runtime, tests) : cell;
      },
    })),
  );
}

function commandTrials(project: ConsumerProject, runtime: Runtime): Trial[] {
  return [...project.commands].map(([subject, command]) => ({
    table: programsTable,
    row: `${runtime.name}, \`import\``,
    column: subject,
    attempt: () => runUnderLock(project, runtime, command),
  }));
}

function commonJsTrials(project: ConsumerProject, runtime: Runtime): Trial[] {
  return commonJsUses.map((use) => ({
    table: commonJsTable,
    row: runtime.name,
    column: use,
    attempt: () => tryCommonJs(project, runtime, use),
  }));
}

function browserTrials(project: ConsumerProject, chromium: Chromium | undefined): Trial[] {
  const places = [{ row: "a context with nothing but web globals", runScript: runInBareContext }];
  if (chromium) {
    places.push({ row: `${chromium.name}, headless`, runScript: (script) => runInChromium(chromium, script) });
  }
  return places.flatMap(({ row, runScript }) =>
    browserExamples(project).map((program) => ({
      table: browserTable,
      row,
      column: program.subject,
      attempt: async () => runScript(await bundle(project, program)),
    })),
  );
}
