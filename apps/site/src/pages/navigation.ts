/** The site's navigation, by what a reader wants to do. */
import type { DefaultTheme } from "vitepress";

/** The links at the top of every page. */
export const nav: DefaultTheme.NavItem[] = [
  { text: "Guarantees", link: "/guarantees" },
  { text: "Playground", link: "/playground" },
  { text: "Recipes", link: "/recipes/" },
  { text: "Evidence", link: "/evidence/" },
  { text: "Reference", link: "/reference/" },
];

/** The list of pages beside every page. */
export const sidebar: DefaultTheme.SidebarItem[] = [
  {
    text: "Start",
    items: [
      { text: "Holdfast", link: "/" },
      { text: "Getting started", link: "/start" },
      { text: "The lock", link: "/core/" },
      { text: "Recipes", link: "/recipes/" },
      { text: "Playground", link: "/playground" },
      { text: "Demo", link: "/demo/" },
    ],
  },
  {
    text: "Guarantees",
    items: [
      { text: "Choosing a lock", link: "/guarantees" },
      { text: "Storage that refuses stale writers", link: "/fenced-storage/" },
      { text: "Safety rules", link: "/safety" },
      { text: "Security", link: "/security" },
    ],
  },
  {
    text: "More than one holder",
    collapsed: true,
    items: [
      { text: "Leader election", link: "/election" },
      { text: "Semaphores", link: "/semaphore" },
      { text: "Shared locks", link: "/shared-locks" },
      { text: "Web Locks", link: "/web-locks/" },
    ],
  },
  {
    text: "Backends",
    collapsed: true,
    items: [
      { text: "ioredis", link: "/ioredis/" },
      { text: "node-redis", link: "/node-redis/" },
      { text: "Valkey GLIDE", link: "/valkey-glide/" },
      { text: "PostgreSQL", link: "/postgres/" },
      { text: "etcd", link: "/etcd/" },
      { text: "SQLite", link: "/sqlite/" },
      { text: "Memory", link: "/memory/" },
      { text: "Other stores", link: "/stores" },
    ],
  },
  {
    text: "Writing an adapter",
    collapsed: true,
    items: [
      { text: "Guide", link: "/custom-adapter/" },
      { text: "Conformance suite", link: "/conformance/" },
      { text: "Redis adapters", link: "/redis/" },
    ],
  },
  {
    text: "Operating",
    collapsed: true,
    items: [
      { text: "Command line", link: "/cli/" },
      { text: "Doctor", link: "/cli/doctor" },
      { text: "Metrics and traces", link: "/opentelemetry/" },
      { text: "Changing servers", link: "/changing-servers" },
      { text: "Changing servers in code", link: "/membership/" },
    ],
  },
  {
    text: "Evidence",
    collapsed: true,
    items: [
      { text: "Overview", link: "/evidence/" },
      { text: "The critique, played out", link: "/evidence/critique" },
      { text: "Simulation", link: "/simulation/" },
      { text: "The simulation's options", link: "/simulate/" },
      { text: "Ten minutes of chaos", link: "/evidence/chaos/" },
      { text: "Servers that change, attacked", link: "/evidence/membership/" },
      { text: "The chaos program", link: "/chaos/" },
      { text: "Theorem and model", link: "/evidence/model" },
      { text: "Broken lock scripts", link: "/evidence/broken-lock-scripts" },
      { text: "Bugs found", link: "/evidence/found" },
    ],
  },
  {
    text: "Figures",
    collapsed: true,
    items: [
      { text: "Benchmark", link: "/evidence/benchmark/" },
      { text: "Benchmark of stores", link: "/evidence/benchmark-stores" },
      { text: "Waiting", link: "/evidence/benchmark/waiting" },
      { text: "Bounds", link: "/evidence/benchmark/bounds" },
      { text: "How it is measured", link: "/evidence/benchmark/method" },
      { text: "The benchmark program", link: "/bench/" },
      { text: "Tested servers", link: "/evidence/compatibility" },
      { text: "Tested compilers and runtimes", link: "/evidence/consumers" },
      { text: "Web Locks, compared", link: "/evidence/web-locks" },
    ],
  },
  {
    text: "Migrating",
    collapsed: true,
    items: [
      { text: "Running both side by side", link: "/migrating/running-both" },
      { text: "redlock", link: "/migrating/from-redlock" },
      { text: "@sesamecare-oss/redlock", link: "/migrating/from-sesamecare-redlock" },
      { text: "redis-semaphore", link: "/migrating/from-redis-semaphore" },
      { text: "redlock-universal", link: "/migrating/from-redlock-universal" },
      { text: "etcd3", link: "/migrating/from-etcd3" },
      { text: "PostgreSQL advisory locks", link: "/migrating/from-pg-advisory-locks" },
      { text: "Row locks", link: "/migrating/from-row-locks" },
      { text: "Tests beside other libraries", link: "/interop/" },
    ],
  },
  {
    text: "Contributing",
    collapsed: true,
    items: [
      { text: "How to work on it", link: "/contributing/" },
      { text: "Architecture", link: "/contributing/architecture" },
      { text: "Decisions", link: "/source/docs/decisions" },
      { text: "Commands", link: "/contributing/commands" },
      { text: "Releasing", link: "/contributing/releasing" },
    ],
  },
];
