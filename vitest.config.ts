import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { defineConfig, mergeConfig, type UserWorkspaceConfig, type ViteUserConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import { CountReporter } from "./scripts/lib/count-reporter.ts";

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
    testTimeout: 60_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 30_000 } },
    // Files share processes: nothing that one has replaced may reach the next.
    restoreMocks: true,
    unstubEnvs: true,
    unstubGlobals: true,
  },
};

const overServersAndProcesses: UserWorkspaceConfig = { test: { testTimeout: 100_000 } };
const simulations: UserWorkspaceConfig = { test: { testTimeout: 120_000 } };
/** The first test that needs the built site waits for its build, and one test opens all pages. */
const site: UserWorkspaceConfig = {
  test: { globalSetup: join(root, "apps/site/test/support/setup.ts"), testTimeout: 300_000, hookTimeout: 300_000 },
};
/** Each change is synced to the disk. That takes milliseconds on a real one. */
const inMemory: UserWorkspaceConfig = { test: { env: existsSync("/dev/shm") ? { TMPDIR: "/dev/shm" } : {} } };

/** Tests on a virtual clock. */
const seededRandom = join(root, "scripts/lib/seeded-random.ts");
const seeded: UserWorkspaceConfig = { test: { setupFiles: seededRandom } };

/** The settings in which a package differs. */
const own: Readonly<Record<string, UserWorkspaceConfig>> = {
  "apps/chaos": overServersAndProcesses,
  "apps/custom-adapter": inMemory,
  "apps/interop": overServersAndProcesses,
  "apps/recipes": { test: { globalSetup: join(root, "apps/recipes/test/build-programs.ts") } },
  "apps/simulate": simulations,
  "apps/site": site,
  "packages/core": { test: { setupFiles: [seededRandom, join(root, "packages/core/test/support/own-modules.ts")] } },
  "packages/cli": {
    // Like a process whose output is no terminal.
    test: { globalSetup: join(root, "packages/cli/test/support/bundle.ts"), env: { NO_COLOR: "1" } },
  },
  "packages/etcd": inMemory,
  "packages/memory": seeded,
  "packages/opentelemetry": seeded,
  "packages/postgres": overServersAndProcesses,
  "packages/simulation": simulations,
  "packages/sqlite": inMemory,
  "packages/web-locks": seeded,
};

const folders = ["packages", "apps"].flatMap((parent) =>
  readdirSync(join(root, parent)).map((name) => `${parent}/${name}`),
);
const projects = [...folders, "scripts"]
  .filter((folder) => existsSync(join(root, folder, "test")))
  .map((folder): UserWorkspaceConfig => {
    const { test, ...rest } = own[folder] ?? {};
    const name = folder.replace(/^.*\//, "");
    // A process and its modules serve many files: starting and loading them for each would take half of all CPU time.
    const isolate = false;
    return { ...shared, root: join(root, folder), ...rest, test: { ...shared.test, name, isolate, ...test } };
  });

const isLong = ({ moduleId }: TestSpecification): boolean =>
  /(conformance|broken-nodes|-node|rolling-restart|guide|demo|\.nightly)\.\w+\.ts$|conformance\/test\/readme|apps\/site\/test\/[a-z-]+\.test/.test(
    moduleId,
  );

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

const inFolder = process.cwd() === root ? projects : projects.filter((project) => project.root === process.cwd());

/** All tests; in the folder of a package, those of this package; in any other folder, the tests that are there. */
export default mergeConfig(
  shared,
  defineConfig({
    test: {
      ...(inFolder.length > 0 && { projects: inFolder }),
      sequence: { sequencer: LongestFirst },
      // Most tests wait for a server, a ttl or another process most of the time. Each worker loads its modules itself.
      maxWorkers: 5,
      reporters: ["default", new CountReporter()],
    },
  }),
);
