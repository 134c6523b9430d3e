import { cruise, type IRegularForbiddenRuleType } from "dependency-cruiser";
import { expectNone } from "../lib/claim.ts";
import { root } from "../lib/workspace.ts";

/** Which packages the sources of each package may import: app → adapter → redis → core. */
const arrows: Readonly<Record<string, readonly string[]>> = {
  core: [],
  memory: ["core"],
  conformance: ["core"],
  opentelemetry: ["core"],
  testkit: ["core"],
  "app-kit": ["ioredis", "node-redis", "redis", "testkit", "core"],
  "docs-testkit": ["testkit"],
  "redis-testkit": ["redis", "conformance", "memory", "testkit", "core"],
  redis: ["core"],
  ioredis: ["redis", "core"],
  "node-redis": ["redis", "core"],
  "valkey-glide": ["redis", "core"],
  simulation: ["memory", "core"],
  cli: ["ioredis", "memory", "redis", "core"],
};

const rules: IRegularForbiddenRuleType[] = [
  {
    name: "imports form no circle",
    from: {},
    to: { circular: true },
  },
  {
    name: "every import resolves",
    from: {},
    to: { couldNotResolve: true },
  },
  {
    name: "core imports nothing from outside",
    from: { path: "^packages/core/src/" },
    to: { pathNot: "^packages/" },
  },
  {
    name: "core/src/waiting is imported through its index.ts",
    from: { path: "^packages/core/src/", pathNot: "^packages/core/src/waiting/" },
    to: { path: "^packages/core/src/waiting/", pathNot: "/waiting/index\\.ts$" },
  },
  {
    name: "packages import no app or script",
    from: { path: "^packages/" },
    to: { path: "^(apps|scripts)/" },
  },
  {
    name: "apps import no other app",
    from: { path: "^apps/([^/]+)/" },
    to: { path: "^apps/", pathNot: "^apps/$1/" },
  },
  {
    name: "apps import no script",
    from: { path: "^apps/" },
    to: { path: "^scripts/" },
  },
  {
    name: "published sources import only what users install",
    from: { path: "^packages/[^/]+/src/", pathNot: "^packages/[^/]*testkit/" },
    to: { dependencyTypes: ["npm-dev", "npm-no-pkg", "npm-unknown"], dependencyTypesNot: ["npm-peer"] },
  },
  {
    name: "every package has its arrows",
    from: { path: "^packages/[^/]+/src/", pathNot: `^packages/(${Object.keys(arrows).join("|")})/` },
    to: {},
  },
  ...Object.entries(arrows).map(([name, below]) => ({
    name: `${name} imports ${below.length > 0 ? `only ${below.join(", ")}` : "no other package"}`,
    from: { path: `^packages/${name}/src/` },
    to: { path: "^packages/", pathNot: `^packages/(${[name, ...below].join("|")})/src/` },
  })),
];

/** Imports point down and form no circle. Imports of types count. */
export async function importsPointDown(): Promise<string> {
  const { problems, imports } = await wrongImports(root);
  expectNone(problems);
  return `${imports} imports`;
}

/** Finds the imports of a workspace that break a rule. */
export async function wrongImports(workspace: string): Promise<{ problems: string[]; imports: number }> {
  const { output } = await cruise(["packages", "apps", "scripts"], {
    baseDir: workspace,
    validate: true,
    ruleSet: { forbidden: rules.map((rule) => ({ ...rule, severity: "error" })) },
    doNotFollow: "node_modules",
    exclude: "(^|/)(dist|reports)/|^scripts/consumers/fixtures/",
    tsPreCompilationDeps: true,
    enhancedResolveOptions: {
      exportsFields: ["exports"],
      conditionNames: ["@holdfast/source", "types", "import", "node", "default"],
      extensions: [".ts", ".js"],
    },
  });
  if (typeof output === "string") throw new Error(output);
  const { violations, totalDependenciesCruised = 0 } = output.summary;
  const problems = violations.map(({ rule, from, to, cycle }) => {
    const way = cycle?.map(({ name }) => name) ?? [to];
    return `${rule.name}: ${[from, ...way].join(" → ")}`;
  });
  return { problems, imports: totalDependenciesCruised };
}
