import { readdir } from "node:fs/promises";
import { join } from "node:path";
import MiniSearch from "minisearch";
import { beforeAll, expect, test } from "vitest";
import { searchOptions } from "../src/pages/search.ts";
import { builtSite, dist, show, useBrowser } from "./support/site.ts";

const open = useBrowser();

/** What readers type, and the page that they look for, or its section. */
const searches = {
  ttl: "/core/#ttlms",
  timeout: "/core/",
  waitTimeoutMs: "/core/#waittimeoutms",
  retry: "/core/",
  deadlock: "/core/",
  health: "/core/",
  LockLostError: "/core/",
  bun: "/core/",
  "fencing token": "/guarantees",
  sentinel: "/guarantees",
  "late write": "/fenced-storage/",
  jest: "/testing",
  "fake timers": "/testing",
  nestjs: "/frameworks/nestjs",
  express: "/frameworks/express",
  bullmq: "/frameworks/bullmq",
  serverless: "/frameworks/nextjs",
  prisma: "/postgres/",
  pgbouncer: "/postgres/",
  mariadb: "/mysql/",
  cron: "/cron/",
  leader: "/election",
  semaphore: "/semaphore",
  "shared lock": "/shared-locks",
  "navigator.locks": "/web-locks/",
  kubernetes: "/kubernetes",
  grafana: "/monitoring",
  opentelemetry: "/opentelemetry/",
  "advisory lock": "/migrating/from-pg-advisory-locks",
  "redis-semaphore": "/migrating/from-redis-semaphore",
  "own adapter": "/custom-adapter/",
  playground: "/playground",
  mutex: "/core/",
  "aws lambda": "/frameworks/nextjs",
  kubernets: "/kubernetes",
};

/** The part of a built index that a search returns. */
type Search = (words: string) => readonly { readonly id: string }[];

let search: Search;

beforeAll(async () => {
  await builtSite();
  const chunks = join(dist, "assets/chunks");
  const name = (await readdir(chunks)).find((file) => file.startsWith("@localSearchIndex")) ?? "no index";
  const { default: index }: { default: string } = await import(join(chunks, name));
  // As VitePress does, with its boosts.
  const fields = { fields: ["title", "titles", "text"], storeFields: ["title", "titles"] };
  const ranking = { prefix: true, boost: { title: 4, text: 2, titles: 1 } };
  const engine = MiniSearch.loadJSON(index, { ...fields, searchOptions: { ...ranking, ...searchOptions } });
  search = (words) => engine.search(words) as unknown as ReturnType<Search>;
});

test.each(Object.entries(searches))("the first result for %s is on %s", (words, target) => {
  const [first] = search(words).map(({ id }) => (target.includes("#") ? id : id.replace(/#.*/, "")));
  expect(first).toBe(target);
});

test("a search leads to an option, by keyboard alone", async () => {
  const tab = await (await open()).newPage();
  await show(tab, "/safety");
  await tab.keyboard.press("/");
  await tab.locator("#localsearch-input:focus").waitFor();
  await tab.keyboard.insertText("waitTimeoutMs");
  await tab.locator("#localsearch-list .selected").waitFor();
  await tab.keyboard.press("Enter");
  await tab.waitForURL((url) => `${url.pathname}${url.hash}` === "/core/#waittimeoutms");
});
