import { expect, test } from "vitest";
import { replaceImports } from "../../src/migrate/imports.ts";
import { applyEdits, Source } from "../../src/migrate/source.ts";

/** Returns the new text, and what is left. */
function moved(code: string, version: number | undefined = 5, path = "file.ts"): { code: string; left: string[] } {
  const { edits, left } = replaceImports(new Source(code, path), version);
  return { code: applyEdits(code, edits), left: left.map(({ line, reason }) => `${line}: ${reason}`) };
}

const five = "@holdfast/compat/redlock";
const four = "@holdfast/compat/redlock-4";

test.each([
  ["a default import", 'import Redlock from "redlock";', `import Redlock from "${five}";`],
  ["another name, other quotes, no semicolon", "import Mutexes from 'redlock'", `import Mutexes from '${five}'`],
  [
    "several names, over several lines, with comments",
    'import Redlock, {\n  ExecutionError, // why it failed\n  ResourceLockedError as Locked,\n} from "redlock"; // keep',
    `import Redlock, {\n  ExecutionError, // why it failed\n  ResourceLockedError as Locked,\n} from "${five}"; // keep`,
  ],
  ["types", 'import type { Settings } from "redlock";', `import type { Settings } from "${five}";`],
  ["a type import", 'let lock: import("redlock").Lock;', `let lock: import("${five}").Lock;`],
  ["a namespace", 'import * as redlock from "redlock";', `import * as redlock from "${five}";`],
  ["an export", 'export { default as R, Lock } from "redlock";', `export { default as R, Lock } from "${five}";`],
  ["an export of everything", 'export * from "redlock";', `export * from "${five}";`],
  ["a dynamic import", 'const { Lock } = await import("redlock");', `const { Lock } = await import("${five}");`],
  ["require", 'const { default: R } = require("redlock");', `const { default: R } = require("${five}");`],
  ["require of a property", 'const R = require("redlock").default;', `const R = require("${five}").default;`],
  [
    "require that createRequire has made",
    'const require = createRequire(import.meta.url);\nconst R = require("redlock");',
    `const require = createRequire(import.meta.url);\nconst R = require("${five}");`,
  ],
  [
    "the other libraries",
    'import { Redlock } from "@sesamecare-oss/redlock";\nimport { RedlockMutex } from "redis-semaphore";',
    'import { Redlock } from "@holdfast/compat/sesamecare-redlock";\nimport { RedlockMutex } from "@holdfast/compat/redis-semaphore";',
  ],
])("moves %s", (_, before, after) => {
  expect(moved(before)).toEqual({ code: after, left: [] });
});

test.each([
  ["import", 'import Redlock, { LockError } from "redlock";', `import Redlock, { LockError } from "${four}";`],
  ["require", 'const Redlock = require("redlock");', `const { Redlock } = require("${four}");`],
  [
    "require by another name",
    "var Lock = require('redlock'), a = 1",
    `var { Redlock: Lock } = require('${four}'), a = 1`,
  ],
  ["require of a property", 'const { LockError } = require("redlock");', `const { LockError } = require("${four}");`],
  [
    "require of a member",
    'const LockError = require("redlock").LockError;',
    `const LockError = require("${four}").LockError;`,
  ],
])("moves version 4 by %s", (_, before, after) => {
  expect(moved(before, 4, "file.js")).toEqual({ code: after, left: [] });
});

const isClass = `1: the class is now the export Redlock of ${four}`;
const isNoImport = "1: this names redlock, and is no import";

test.each([
  ["an unknown version", 'import Redlock from "redlock";', 1, "1: package.json does not tell"],
  ["a name that is not exported", 'import { Execution } from "redlock";', 5, `1: ${five} has no export Execution`],
  [
    "an exported name that is not exported",
    '\nexport { Redlock } from "redis-semaphore";',
    5,
    "2: @holdfast/compat/redis-semaphore has no export Redlock",
  ],
  ["a required name that is not exported", 'const { Foo } = require("redlock");', 5, `1: ${five} has no export Foo`],
  ["another require", 'function load(require) { return require("redlock"); }', 5, "1: require is a name of this file"],
  ["version 4 as a namespace", 'import * as Redlock from "redlock";', 4, isClass],
  ["version 4 by import =", 'import Redlock = require("redlock");', 4, isClass],
  ["version 4 in an expression", 'new (require("redlock"))(clients);', 4, isClass],
  ["a mock", 'vi.mock("redlock");', 5, isNoImport],
  ["a resolved path", 'require.resolve("redlock");', 5, isNoImport],
  ["a declared module", 'declare module "redlock" {}', 5, isNoImport],
  ["a file of a package", 'import "redis-semaphore/lib/Lock";', 5, "1: this names redis-semaphore/lib/Lock"],
])("leaves %s", (_, code, version, reason) => {
  const outcome = moved(code, version);
  expect(outcome.code).toBe(code);
  expect(outcome.left).toEqual([expect.stringContaining(reason)]);
});

test.each([
  ["a string", 'const logger = createLogger("redlock");'],
  ["a comment", '// import Redlock from "redlock";'],
  ["another package", 'import x from "redlock-universal"; import y from "my-redlock";'],
  ["a template", "const code = `import Redlock from 'redlock'`;"],
])("does not mention %s that is no import", (_, code) => {
  expect(moved(code)).toEqual({ code, left: [] });
});

const redlock = 'import Redlock, { Lock } from "redlock";\n';
const semaphore = 'import { Mutex, Semaphore as S } from "redis-semaphore";\n';

test.each([
  ["a semaphore", `${semaphore}new S(client, "api", 5);`, 5, "2: permits of redis-semaphore are not"],
  ["an identifier", `${semaphore}new Mutex(c, "k", { identifier });`, 5, "2: the option identifier is not"],
  ["scripts", `${redlock}new Redlock(c, {}, { acquireScript });`, 5, "2: custom scripts are not supported"],
  [
    "a script of version 4",
    `${redlock}new Redlock(c, { lockScript });`,
    4,
    "2: the option lockScript is not supported",
  ],
  ["a disposer", `${redlock}using(r.disposer("a", 1), f);`, 4, "2: disposer() is not supported"],
  ["a callback", `${redlock}lock.unlock(function () {});`, 4, "2: callbacks are not supported"],
  ["a client of redis", `${redlock}const redis = require("redis");`, 4, "2: clients of redis are refused"],
  ["a prefix of a client", `${redlock}new Redis({ keyPrefix: "app:" });`, 5, "2: a client with a keyPrefix"],
  ["settings of a release", `${redlock}r.release(l, { retryCount: 0 });`, 5, "2: release() takes no settings"],
  ["settings of an extension", `${redlock}r.extend(l, 1, settings);`, 5, "2: extend() takes no settings"],
  ["a lock made from a value", `${redlock}new Lock(r, ["a"], value, [], 0);`, 5, "2: a lock that is made from a value"],
])("moves the import, and reports %s, which is refused when it runs", (_, code, version, reason) => {
  const outcome = moved(code, version);
  expect(outcome.code).toContain("@holdfast/compat/");
  expect(outcome.left).toEqual([expect.stringContaining(reason)]);
});

test("reads TypeScript, JSX and both", () => {
  const code = 'import Redlock from "redlock";\n';
  expect(moved(`${code}const a = <T,>(x: T) => <T>x;`, 5, "a.ts").left).toEqual([]);
  expect(moved(`${code}const a = <b c={1}>text</b>;`, 5, "a.jsx").left).toEqual([]);
  expect(moved(`${code}const a = <T,>(x: T) => <b>{x}</b>;`, 5, "a.tsx").left).toEqual([]);
  const decorated = "@decorated class A { @field() private a = 1; constructor(@Inject() readonly b: B) {} }";
  expect(moved(`${code}${decorated}`, 5, "a.mts").left).toEqual([]);
});
