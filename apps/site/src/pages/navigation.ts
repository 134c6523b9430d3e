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

/** The pages beside every page, in groups. */
const groups: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  Start: {
    Home: "/",
    Overview: "/overview",
    "Getting started": "/start",
    "The lock": "/core/",
    Recipes: "/recipes/",
    "Testing code that locks": "/testing",
    Playground: "/playground",
    Demo: "/demo/",
  },
  Guarantees: {
    "Why another lock library": "/why",
    "Choosing a lock": "/guarantees",
    "Storage that refuses stale writers": "/fenced-storage/",
    "Tables that refuse stale writers": "/guarded-tables",
    "Safety rules": "/safety",
    Security: "/security",
  },
  Frameworks: {
    Overview: "/frameworks/overview",
    Express: "/frameworks/express",
    NestJS: "/frameworks/nestjs",
    "The module for NestJS": "/nest/",
    BullMQ: "/frameworks/bullmq",
    "Cron jobs": "/cron/",
    "Next.js and serverless functions": "/frameworks/nextjs",
  },
  "More than one holder": {
    "Leader election": "/election",
    Semaphores: "/semaphore",
    "Shared locks": "/shared-locks",
    "Handing a lock over": "/transfer",
    "Web Locks": "/web-locks/",
  },
  Backends: {
    ioredis: "/ioredis/",
    "node-redis": "/node-redis/",
    "Valkey GLIDE": "/valkey-glide/",
    PostgreSQL: "/postgres/",
    "MySQL and MariaDB": "/mysql/",
    etcd: "/etcd/",
    SQLite: "/sqlite/",
    Memory: "/memory/",
    "Other stores": "/stores",
  },
  "Writing an adapter": {
    Guide: "/custom-adapter/",
    "Conformance suite": "/conformance/",
    "Redis adapters": "/redis/",
  },
  Operating: {
    "Command line": "/cli/",
    Doctor: "/cli/doctor",
    "Metrics and traces": "/opentelemetry/",
    "Prometheus and Grafana": "/monitoring",
    "Recorded histories": "/history/",
    Kubernetes: "/kubernetes",
    "Changing servers": "/changing-servers",
    "Changing servers in code": "/membership/",
  },
  Evidence: {
    Overview: "/evidence/",
    "The critique, played out": "/evidence/critique",
    Simulation: "/simulation/",
    "The simulation's options": "/simulate/",
    "Ten minutes of chaos": "/evidence/chaos/",
    "Servers that change, attacked": "/evidence/membership/",
    "The chaos program": "/chaos/",
    "Theorem and model": "/evidence/model",
    "Faults that tests catch": "/evidence/catches",
    "Broken lock scripts": "/evidence/broken-lock-scripts",
    "Bugs found": "/evidence/found",
  },
  Figures: {
    Benchmark: "/evidence/benchmark/",
    "Benchmark of stores": "/evidence/benchmark-stores",
    Waiting: "/evidence/benchmark/waiting",
    Bounds: "/evidence/benchmark/bounds",
    "How it is measured": "/evidence/benchmark/method",
    "The benchmark program": "/bench/",
    "Tested servers": "/evidence/compatibility",
    "Tested compilers and runtimes": "/evidence/consumers",
    "Web Locks, compared": "/evidence/web-locks",
  },
  Migrating: {
    "In one line": "/compat/",
    "Running both side by side": "/migrating/running-both",
    redlock: "/migrating/from-redlock",
    "@sesamecare-oss/redlock": "/migrating/from-sesamecare-redlock",
    "redis-semaphore": "/migrating/from-redis-semaphore",
    "redlock-universal": "/migrating/from-redlock-universal",
    etcd3: "/migrating/from-etcd3",
    "PostgreSQL advisory locks": "/migrating/from-pg-advisory-locks",
    "Row locks": "/migrating/from-row-locks",
    "Tests beside other libraries": "/interop/",
  },
  Contributing: {
    "How to work on it": "/contributing/",
    Architecture: "/contributing/architecture",
    Decisions: "/source/docs/decisions",
    Commands: "/contributing/commands",
    Releasing: "/contributing/releasing",
  },
};

/** How many groups are open at first. */
const openGroups = 2;

/** The list of pages beside every page. */
export const sidebar = Object.entries(groups).map(([text, pages], index) => ({
  text,
  items: Object.entries(pages).map(([name, link]) => ({ text: name, link })),
  ...(index >= openGroups && { collapsed: true }),
})) satisfies DefaultTheme.SidebarItem[];
