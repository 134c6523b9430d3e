import { readdirSync } from "node:fs";
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

/** Returns the project that runs the tests of these folders: if vitest runs in one of them, only those there. */
function projectOf(name: string, { folders, test }: (typeof special)[string]): UserWorkspaceConfig[] {
  const selected = here === "" ? folders : folders.filter((folder) => folder === here);
  if (selected.length === 0) return [];
  const include = selected.map((folder) => `${folder}/test/**/*.{test,nightly}.ts`);
  return [{ ...shared, root, test: { ...shared.test, name, include, isolate: false, ...test } }];
}

const projects = Object.entries({ ...special, common }).flatMap(([name, project]) => projectOf(name, project));

/** Parts of the paths of files that take long. */
const long = [
  /(conformance(-others)?|broken-nodes|doctor-findings|-node|rolling-restart|guide|demo|\.nightly)\.\w+\.ts$/,
  /etcd\/test\/access|postgres\/test\/holds|apps\/site\/test\/[a-z-]+\.test/,
];

const isLong = ({ moduleId }: TestSpecification): boolean => long.some((part) => part.test(moduleId));

/**
 * Starts the longest files first: most of their time is waiting, which the other files then fill. The files of a project stay
 * together, because a worker whose next file belongs to another project is replaced by a new process.
 */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const firstLong = sorted.filter(isLong).map(({ project }) => project.name);
    const names = [...new Set([...firstLong, ...sorted.map(({ project }) => project.name)])];
    const rank = (file: TestSpecification): number => 2 * names.indexOf(file.project.name) + Number(!isLong(file));
    return sorted.toSorted((a, b) => rank(a) - rank(b));
  }
}

/** All tests; in the folder of a package, those of this package; in any other folder, the tests that are there. */
export default mergeConfig(
  shared,
  defineConfig({
    test: {
      ...(projects.length > 0 && { projects }),
      globalSetup: join(root, "scripts/lib/tests-temporary-folder.ts"),
      sequence: { sequencer: LongestFirst },
      // Most tests wait for a server, a ttl or another process most of the time. Each worker loads its modules itself.
      maxWorkers: 7,
      reporters: ["default", new CountReporter()],
    },
  }),
);
