import { expect, test } from "vitest";
import { parseServerAddress } from "../src/servers/servers.ts";

const redis = (address: object) => ({ isTls: false, db: 0, ...address });
const tcp = (host: string, address: object = {}) => redis({ host, port: 6379, ...address });
const postgres = (connectionString: string, name: string, table: object = {}) => {
  return { connectionString, name, schema: undefined, table: undefined, ...table };
};
const mysql = (name: string, address: object = {}) => ({
  ...{ host: "example", port: 3306, socketPath: undefined, user: "", password: "", database: "app" },
  ...{ table: undefined, sslMode: "DISABLED", name, ...address },
});
const etcd = (hosts: readonly string[], address: object = {}) => ({ hosts, isTls: false, ...address });
const socket = "/run/redis.sock";

test.each<[text: string, address: object]>([
  ["redis://example", tcp("example")],
  ["redis://example:7001/", tcp("example", { port: 7001 })],
  ["redis://example/3", tcp("example", { db: 3 })],
  ["rediss://example", tcp("example", { isTls: true })],
  ["example:7001", tcp("example", { port: 7001 })],
  ["127.0.0.1", tcp("127.0.0.1")],
  ["[::1]:7001", tcp("::1", { port: 7001 })],
  ["redis://[fe80::1]", tcp("fe80::1")],
  ["redis://:secret@example", tcp("example", { password: "secret" })],
  ["redis://me:p%40ss%2Fw%25rd@example", tcp("example", { username: "me", password: "p@ss/w%rd" })],
  ["/run/redis.sock", redis({ path: socket })],
  ["unix:///run/my%20redis.sock?db=2", redis({ path: "/run/my redis.sock", db: 2 })],
  ["redis+socket://me:secret@/run/redis.sock", redis({ path: socket, username: "me", password: "secret" })],
  ["postgres://example/app", postgres("postgres://example/app", "example:5432/app")],
  [
    "postgresql://me:s3cret@example:6543/app?sslmode=verify-full",
    postgres("postgresql://me:s3cret@example:6543/app?sslmode=verify-full", "example:6543/app"),
  ],
  [
    "postgres://example/app?schema=jobs&table=locks",
    postgres("postgres://example/app", "example:5432/app/jobs.locks", { schema: "jobs", table: "locks" }),
  ],
  ["postgres:///app?host=/run/pg", postgres("postgres:///app?host=%2Frun%2Fpg", "/run/pg/app")],
  ["mysql://example/app", mysql("example:3306/app")],
  [
    "mariadb://me:p%40ss@[::1]:3307/app?table=locks&ssl-mode=verify_ca",
    mysql("[::1]:3307/app/locks", {
      ...{ host: "::1", port: 3307, user: "me", password: "p@ss", table: "locks", sslMode: "VERIFY_CA" },
    }),
  ],
  ["mysql:///app?socket=/run/my.sock", mysql("/run/my.sock/app", { host: "", socketPath: "/run/my.sock" })],
  ["etcd://example", etcd(["example:2379"])],
  ["etcds://a,b:80,[::1]:7001/", etcd(["a:2379", "b:80", "[::1]:7001"], { isTls: true })],
  ["etcd://me:p%40ss%2Cw%3Ard@a,b", etcd(["a:2379", "b:2379"], { username: "me", password: "p@ss,w:rd" })],
  ["sqlite:locks.db", { path: "locks.db" }],
  ["sqlite:/var/lib/my locks.db", { path: "/var/lib/my locks.db" }],
  ["sqlite:///var/lib/locks.db", { path: "/var/lib/locks.db" }],
])("parseServerAddress() parses %s", (text, address) => {
  expect(parseServerAddress(text, "node 1").where).toEqual(address);
});

test.each([
  ["etcd://", "names no host"],
  ["etcd://a,,b", "names no host"],
  ["etcd://me@a", "must name both a user and a password"],
  ["etcd://me:hunter2@a:port", "is not the address of a cluster"],
  ["etcd://me:hunter2@a/hunter2", "names no host"],
  ["etcd://me:hunter2%@a", "is not percent-encoded correctly"],
  ["etcd://me:hunter2@a?prefix=x", "has unknown parameters"],
  ["sqlite:", "names no file"],
  ["sqlite::memory:", "names no file"],
  ["sqlite://hunter2/locks.db", "has a host"],
  ["sqlite:locks.db?mode=hunter2", "has unknown parameters"],
  ["postgres:///app", "names no host"],
  ["postgres://me:hunter2@example/app?password=hunter2", "has unknown parameters"],
  ["postgres://me:hunter2@example/app?table=a&table=b", "has a parameter twice"],
  ["postgres://me:hunter2@example:port/app", "is not the address of a database"],
  ["postgres://me:hunter2%@example/app", "is not percent-encoded correctly"],
  ["mysql:///app", "names no host"],
  ["mysql://me:hunter2@example", "names no database"],
  ["mysql://me:hunter2@example/app?password=hunter2", "has unknown parameters"],
  ["mysql://me:hunter2@example/app?table=a&table=b", "has a parameter twice"],
  ["mysql://me:hunter2@example/app?ssl-mode=hunter2", "has an unknown ssl-mode"],
  ["mysql://me:hunter2@example:port/app", "is not the address of a database"],
  ["mysql://me:hunter2%@example/app", "is not percent-encoded correctly"],
  ["", "names no host"],
  ["unix://hunter2", "must name the absolute path of a socket"],
  ["unix://me:hunter2@", "is not the address"],
  ["redis://", "names no host"],
  ["redis://:hunter2", "is not the address"],
  ["redis://:hunter2@", "is not the address"],
  ["redis://:hunter2@example:port", "is not the address"],
  ["http://:hunter2@example", "has an unknown scheme"],
  ["redis://:hunter2@example/zero", "has a database that is not a number"],
  ["redis://:hunter2%@example", "is not percent-encoded correctly"],
  ["redis://example?password=hunter2", "has unknown parameters"],
  ["redis://:hunter2#@example", "is not the address"],
  ["unix://hunter2/run/redis.sock", "must name the absolute path of a socket"],
])("parseServerAddress() refuses %j, and quotes nothing of it", (text, why) => {
  expect(() => parseServerAddress(text, "node 1")).toThrow(`node 1 ${why}`);
  expect(() => parseServerAddress(text, "node 1")).not.toThrow(/hunter2/);
});
