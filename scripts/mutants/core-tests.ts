import { join, relative } from "node:path";
import { createVitest, type TestModule, type TestSpecification, type Vitest } from "vitest/node";
import { shared } from "../../vitest.config.ts";
import { root, scripts } from "../lib/workspace.ts";
import { type Executed, isExecuted } from "./executed-code.ts";
import { MutantThread } from "./mutant-thread.ts";
import { type FaultyText, pathOf, slow } from "./mutants.ts";

const packages = join(root, "packages");

/** How many times as long as without a fault a test file may take. */
const patience = 20;

interface RunOptions {
  /** Runs only the file with this name. */
  readonly file?: string | undefined;
  /** Runs the files that take long only if no other file fails. */
  readonly untilOneFails?: boolean;
}

/**
 * The tests of core and membership in a vitest that stays open. It loads their sources with one fault after another, and
 * writes nothing.
 */
export interface CoreTests {
  /** The names of the test files. */
  readonly files: readonly string[];
  /**
   * Runs all tests without a fault. From now on, the files that execute the code around a fault test it, each within a
   * multiple of the time that it took.
   *
   * @throws {Error} if a test fails
   */
  measure(): Promise<void>;
  /** Runs the tests with a fault. Resolves with the first failure of each file that fails, by its name. */
  run(fault: FaultyText, options?: RunOptions): Promise<ReadonlyMap<string, string>>;
  close(): Promise<void>;
}

/** Opens the tests of core and membership. */
export async function openCoreTests(): Promise<CoreTests> {
  const measured = new Map<string, { tookMs: number; executed: Executed }>();
  const tookMs = (path: string): number => measured.get(path)?.tookMs ?? 0;
  const { vitest, load } = await openVitest((path) => 60_000 + patience * tookMs(path));
  const all = await vitest.globTestSpecifications();
  let averageMs = 0;
  return {
    files: all.map(({ moduleId }) => nameOf(moduleId)),
    async measure() {
      process.env.HOLDFAST_EXECUTED = "1"; // for the threads
      const failures = await failuresIn(vitest, all);
      delete process.env.HOLDFAST_EXECUTED;
      for (const [file, failure] of failures) {
        throw new Error(`${failures.size} test files fail without a fault, first ${file}: ${failure}`);
      }
      for (const module of all.flatMap(({ testModule }) => testModule ?? [])) {
        const { setupDuration, collectDuration, duration } = module.diagnostic();
        const ms = setupDuration + collectDuration + duration;
        measured.set(module.moduleId, { tookMs: ms, executed: module.meta().executed ?? {} });
        averageMs += ms / all.length;
      }
    },
    async run(fault, { file, untilOneFails = false } = {}) {
      const path = pathOf(fault);
      const code = await load(path);
      const changed = await load(path, fault);
      const selected = all.filter(({ moduleId }) => {
        if (file !== undefined) return nameOf(moduleId) === file;
        const executed = measured.get(moduleId)?.executed;
        return executed === undefined || isExecuted(executed[path], code, changed);
      });
      if (file !== undefined && selected.length === 0) throw new Error(`there is no ${file}.test.ts`);
      const last = selected.filter(({ moduleId }) => untilOneFails && tookMs(moduleId) > averageMs);
      const failures = await failuresIn(
        vitest,
        selected.filter((each) => !last.includes(each)),
      );
      return failures.size > 0 ? failures : failuresIn(vitest, last);
    },
    close: () => vitest.close(),
  };
}

/** Opens vitest, and returns it with a function that loads a source file as it is, or with a fault, from now on. */
async function openVitest(
  limitMs: (path: string) => number,
): Promise<{ vitest: Vitest; load(path: string, fault?: FaultyText): Promise<string> }> {
  let fault: FaultyText | undefined;
  const vitest = await createVitest(
    "test",
    {
      ...shared.test,
      config: false,
      root,
      include: ["packages/{core,membership}/test/**/*.test.ts"],
      watch: false,
      reporters: [{}],
      exclude: slow.map((name) => `**/${name}.test.ts`),
      setupFiles: [join(scripts, "lib/seeded-random.ts"), join(packages, "core/test/support/nobody-sleeps-forever.ts")],
      runner: join(scripts, "mutants/test-runner.ts"),
      isolate: false,
      pool: { name: "mutant", createPoolWorker: (options) => new MutantThread(options, limitMs) },
      maxWorkers: 2,
    },
    {
      resolve: shared.resolve ?? {},
      ssr: shared.ssr ?? {},
      plugins: [
        {
          name: "fault",
          enforce: "pre",
          transform(code, id) {
            if (fault === undefined || id !== pathOf(fault)) return undefined;
            return code.replace(fault.from, fault.to);
          },
        },
      ],
    },
  );
  await vitest.standalone();
  return {
    vitest,
    async load(path, next) {
      for (const changed of [path, fault ? pathOf(fault) : path]) vitest.invalidateFile(changed);
      fault = next;
      const loaded = await vitest.projects[0]?.vite.environments.ssr?.transformRequest(path);
      return loaded?.code ?? "";
    },
  };
}

/** Runs test files. Resolves with the first failure of each file that fails, by its name. */
async function failuresIn(vitest: Vitest, files: readonly TestSpecification[]): Promise<Map<string, string>> {
  if (files.length === 0) return new Map();
  const { exitCode } = process; // which vitest changes when a test fails
  const { unhandledErrors } = await vitest.runTestSpecifications([...files]);
  process.exitCode = exitCode;
  const modules = files.flatMap(({ testModule }) => testModule ?? []);
  const failures = modules.flatMap((module) => {
    const failure = failureOf(module, unhandledErrors);
    return failure === undefined ? [] : [[nameOf(module.moduleId), failure] as const];
  });
  return new Map(failures.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

function failureOf(module: TestModule, unhandledErrors: readonly unknown[]): string | undefined {
  const [failed] = module.children.allTests("failed");
  if (failed) return failed.name;
  const [error] = module.errors();
  if (error) throw new Error(`${module.moduleId} does not load: ${error.stack ?? error.message}`);
  if (module.state() !== "passed") return "the file does not end";
  const isOwn = (error: unknown): boolean => Object(error).VITEST_TEST_PATH === module.moduleId;
  return unhandledErrors.some(isOwn) ? "an error outside of any test" : undefined;
}

/** Names a test file of core `locks/acquire`, and one of another package `membership/heal`. */
function nameOf(path: string): string {
  return relative(packages, path)
    .replace("/test/", "/")
    .replace(/^core\/|\.test\.ts$/g, "");
}
