import { expect, test } from "vitest";
import { parseServerAddress } from "../src/servers/servers.ts";

const plain = { isTls: false, db: 0 };
const mysql = {
  ...{ host: "example", port: 3306, socketPath: undefined, user: "", password: "", database: "app" },
  ...{ table: undefined, sslMode: "DISABLED" },
};
const usual = { schema: undefined, table: undefined };

test.each<[text: string, address: object]>([
  ["redis://example", { ...plain, host: "example", port: 6379 }],
  ["redis://example:7001", { ...plain, host: "example", port: 7001 }],
  ["redis://example:7001/", { ...plain, host: "example", port: 7001 }],
  ["redis://example/3", { ...plain, host: "example", port: 6379, db: 3 }],
  ["rediss://example", { ...plain, host: "example", port: 6379, isTls: true }],
  ["example:7001", { ...plain, host: "example", port: 7001 }],
  ["127.0.0.1", { ...plain, host: "127.0.0.1", port: 6379 }],
  ["[::1]:7001", { ...plain, host: "::1", port: 7001 }],
  ["redis://[fe80::1]", { ...plain, host: "fe80::1", port: 6379 }],
  ["redis://:secret@example", { ...plain, host: "example", port: 6379, password: "secret" }],
  [
    "redis://me:p%40ss%2Fw%25rd@example",
    { ...plain, host: "example", port: 6379, username: "me", password: "p@ss/w%rd" },
  ],
  ["/run/redis.sock", { ...plain, path: "/run/redis.sock" }],
  ["unix:///run/my%20redis.sock?db=2", { ...plain, path: "/run/my redis.sock", db: 2 }],
  [
    "redis+socket://me:secret@/run/redis.sock",
    { ...plain, path: "/run/redis.sock", username: "me", password: "secret" },
  ],
  ["postgres://example/app", { connectionString: "postgres://example/app", name: "example:5432/app", ...usual }],
  [
    "postgresql://me:s3cret@example:6543/app?sslmode=verify-full",
    {
      connectionString: "postgresql://me:s3cret@example:6543/app?sslmode=verify-full",
      name: "example:6543/app",
      ...usual,
    },
  ],
  [
    "postgres://example/app?schema=jobs&table=locks",
    { connectionString: "postgres://example/app", name: "example:5432/app/jobs.locks", schema: "jobs", table: "locks" },
  ],
  [
    "postgres:///app?host=/run/postgresql",
    { connectionString: "postgres:///app?host=%2Frun%2Fpostgresql", name: "/run/postgresql/app", ...usual },
  ],
  ["mysql://example/app", { ...mysql, name: "example:3306/app" }],
  [
    "mariadb://me:p%40ss@[::1]:3307/app?table=locks&ssl-mode=verify_ca",
    {
      ...mysql,
      ...{ host: "::1", port: 3307, user: "me", password: "p@ss", table: "locks", sslMode: "VERIFY_CA" },
      name: "[::1]:3307/app/locks",
    },
  ],
  [
    "mysql:///app?socket=/run/mysqld/mysqld.sock",
    { ...mysql, host: "", socketPath: "/run/mysqld/mysqld.sock", name: "/run/mysqld/mysqld.sock/app" },
  ],
  ["etcd://example", { hosts: ["example:2379"], isTls: false }],
  ["etcds://a,b:80,[::1]:7001/", { hosts: ["a:2379", "b:80", "[::1]:7001"], isTls: true }],
  [
    "etcd://me:p%40ss%2Cw%3Ard@a,b",
    { hosts: ["a:2379", "b:2379"], isTls: false, username: "me", password: "p@ss,w:rd" },
  ],
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
