/** Which imports are allowed: `pnpm check imports`. Imports of types count, too. */

/** Which other packages the sources of each package may import: app → adapter → redis → core. */
const arrows = {
  core: [],
  membership: ["core"],
  memory: ["core"],
  conformance: ["core"],
  history: ["core"],
  cron: ["core"],
  nest: ["core"],
  opentelemetry: ["core"],
  testkit: ["core"],
  "app-kit": ["ioredis", "node-redis", "redis", "testkit", "core"],
  "docs-testkit": ["testkit"],
  "redis-testkit": ["redis", "conformance", "memory", "testkit", "core"],
  redis: ["core"],
  ioredis: ["redis", "core"],
  "node-redis": ["redis", "core"],
  "valkey-glide": ["redis", "core"],
  etcd: ["core"],
  simulation: ["history", "membership", "memory", "core"],
  mysql: ["core"],
  postgres: ["core"],
  sqlite: ["core"],
  "web-locks": ["core"],
  cli: ["etcd", "history", "ioredis", "membership", "memory", "mysql", "postgres", "redis", "sqlite", "core"],
  compat: ["ioredis", "core"],
};
const rules = [
  {
    name: "imports form no cycle",
    from: {},
    to: { circular: true },
  },
  {
    name: "every import resolves",
    from: {},
    to: { couldNotResolve: true },
  },
  {
    name: "core imports no other module",
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
    name: "packages and apps import each other by name",
    // One test compares options that no package exports, and one checks the state of core's queues.
    from: {
      path: "^((?:packages|apps)/[^/]+)/",
      pathNot: "^(apps/interop/test/options\\.test|packages/testkit/src/sleepers)\\.ts$",
    },
    to: { path: "^(packages|apps)/", pathNot: "^$1/", dependencyTypes: ["local"] },
  },
  {
    name: "published sources import only what users install",
    from: { path: "^packages/[^/]+/src/", pathNot: "^packages/(app-kit|[^/]*testkit)/" },
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

/** @type {import("dependency-cruiser").IConfiguration} */
export default {
  forbidden: rules.map((rule) => ({ ...rule, severity: "error" })),
  options: {
    doNotFollow: { path: "node_modules" },
    exclude: { path: "(^|/)(dist|reports)/|^scripts/consumers/fixtures/" },
    tsPreCompilationDeps: true,
    enhancedResolveOptions: {
      exportsFields: ["exports"],
      conditionNames: ["@holdfast/source", "types", "import", "node", "default"],
      extensions: [".ts", ".tsx", ".js"],
    },
  },
};
