import { readdirSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join, relative } from "node:path";
import { defineConfig, mergeConfig, type UserWorkspaceConfig, type ViteUserConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import { CountReporter } from "./scripts/lib/count-reporter.ts";
import { memoryDisk } from "./scripts/lib/tests-temporary-folder.ts";

const root = import.meta.dirname;

/**
 * Packages are tested from source, without a build. Vite adds "import" where a module is imported. Here, the processes of
 * vitest would apply it also where a CommonJS package requires another.
 */
const conditions = ["@holdfast/source", "node", "default"];

/**
 * Whether `pnpm nightly` runs the tests: those in `.nightly.ts` files, too, and the whole conformance suite over every
 * client. They take long, and what they catch is rare once the other tests pass.
 */
const isNightly = process.env.HOLDFAST_NIGHTLY === "1";

/** The settings of every test run. */
export const shared: ViteUserConfig = {
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  test: {
    include: ["test/**/*.{test,nightly}.ts"],
    exclude: isNightly ? [] : ["**/*.nightly.ts"],
    // Most tests take milliseconds. These bounds are for a busy machine, and for tests that hang.
    testTimeout: 120_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 30_000 } },
    // Files share processes: nothing that one has replaced may reach the next.
    restoreMocks: true,
    unstubEnvs: true,
    unstubGlobals: true,
  },
};

const seededRandom = join(root, "scripts/lib/seeded-random.ts");

/** The tests that need settings of their own, by the name of their project. */
const special: Readonly<Record<string, { folders: readonly string[]; test: UserWorkspaceConfig["test"] }>> = {
  core: {
    folders: ["packages/core", "packages/membership"],
    test: { setupFiles: [seededRandom, join(root, "packages/core/test/support/nobody-sleeps-forever.ts")] },
  },
  "virtual-time": {
    folders: ["packages/cron", "packages/memory", "packages/nest", "packages/opentelemetry", "packages/web-locks"],
    test: { setupFiles: seededRandom },
  },
  // While it runs, a simulation draws from a seed by `Math.random`: nothing that other tests have left behind may do so.
  simulation: { folders: ["apps/simulate", "packages/simulation"], test: {} },
  // Nightly, PostgreSQL has a real disk: statements that look first and claim later are caught sooner there.
  ...(isNightly && {
    "in-memory": {
      folders: ["apps/custom-adapter", "packages/etcd", "packages/mysql", "packages/sqlite"],
      test: { env: memoryDisk === undefined ? {} : { TMPDIR: memoryDisk } },
    },
  }),
  // Like a process whose output is no terminal.
  cli: {
    folders: ["packages/cli"],
    test: { globalSetup: join(root, "packages/cli/test/support/bundle.ts"), env: { NO_COLOR: "1" } },
  },
  // The first test that needs the built site waits for its build, and one test opens all pages.
  site: {
    folders: ["apps/site"],
    test: { globalSetup: join(root, "apps/site/test/support/setup.ts"), testTimeout: 300_000, hookTimeout: 300_000 },
  },
};
const specialFolders = Object.values(special).flatMap(({ folders }) => folders);

const allFolders = ["packages", "apps"].flatMap((parent) =>
  readdirSync(join(root, parent)).map((name) => `${parent}/${name}`),
);
/**
 * All other tests share a project. A process, and the modules that it has loaded, serves the files of one project: those of
 * each package would take a tenth of all CPU time.
 */
const common = {
  folders: [...allFolders, "scripts"].filter((folder) => !specialFolders.includes(folder)),
  test: {},
};

const here = relative(root, process.cwd());

/** Projects whose tests compute all the time. */
const computingProjects: readonly string[] = ["core", "virtual-time", "simulation", "site"];

/**
 * The tests that compute run first, in as many workers as there are processors: each loads all modules itself. Most others
 * wait for a server, a ttl or another process most of the time.
 */
const schedules = {
  computing: { maxWorkers: Math.min(Math.max(availableParallelism(), 2), 6), sequence: { groupOrder: 0 } },
  waiting: { maxWorkers: 6, sequence: { groupOrder: 1 } },
};

/** Returns the project that runs the tests of these folders: if vitest runs in one of them, only those there. */
function projectOf(name: string, { folders, test }: (typeof special)[string]): UserWorkspaceConfig[] {
  const selected = here === "" ? folders : folders.filter((folder) => folder === here);
  if (selected.length === 0) return [];
  const include = selected.map((folder) => `${folder}/test/**/*.{test,nightly}.ts`);
  const schedule = schedules[computingProjects.includes(name) ? "computing" : "waiting"];
  return [{ ...shared, root, test: { ...shared.test, name, include, isolate: false, ...schedule, ...test } }];
}

const projects = Object.entries({ ...special, common }).flatMap(([name, project]) => projectOf(name, project));

/** Parts of the paths of files that take long because they wait, the longest first. */
const longWaiting = [
  /valkey-glide\/test\/conformance\.test|\.nightly\.ts$/,
  /(postgres|mysql)\/test\/holds|-node\.test|doctor-findings|migrate|site\/test\/[a-z-]+\.test/,
  /etcd\/test\/(access|late-requests|leases)|redis\/test\/(floor|server-check)|rolling-restart|demo|express-server/,
];
/** The same of those that take long because they compute. */
const longComputing = /test\/conformance(-others)?\.test|broken-nodes|doc-comments|all-readmes/;

/**
 * Starts the long files first, those that wait and those that compute in turn: so a run keeps the processors busy, and does
 * not end with a long file. The files of a project stay together, because a worker whose next file belongs to another project
 * is replaced by a new process.
 */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const names = new Set([...projects.map(({ test }) => test?.name), ...sorted.map(({ project }) => project.name)]);
    return [...names].flatMap((name) => longestFirst(sorted.filter(({ project }) => project.name === name)));
  }
}

/** Returns the files of a project, those that take long first. */
function longestFirst(files: readonly TestSpecification[]): readonly TestSpecification[] {
  const matching = (pattern: RegExp) => files.filter(({ moduleId }) => pattern.test(moduleId));
  const waiting = longWaiting.flatMap(matching);
  const computing = matching(longComputing).filter((file) => !waiting.includes(file));
  const inTurn = waiting.flatMap((file, index) => [file, ...computing.slice(index, index + 1)]);
  return [...new Set([...inTurn, ...computing, ...files])];
}

/** All tests; in the folder of a package, those of this package; in any other folder, the tests that are there. */
export default mergeConfig(
  shared,
  defineConfig({
    test: {
      ...(projects.length > 0 && { projects }),
      globalSetup: join(root, "scripts/lib/tests-temporary-folder.ts"),
      // Transformed sources are kept from run to run, by their content: that saves some 20 s of CPU time.
      experimental: { fsModuleCache: true },
      sequence: { sequencer: LongestFirst },
      reporters: ["default", new CountReporter()],
    },
  }),
);
