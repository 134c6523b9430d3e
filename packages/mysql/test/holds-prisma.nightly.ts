import type { RunStatement } from "@holdfast/mysql";
import { openPrisma, type PrismaRaw } from "@holdfast/testkit/prisma";
import { test } from "vitest";
import { expectHolds } from "./holds-in-library.ts";
import { serverOfFile } from "./servers.ts";

const over =
  (client: PrismaRaw): RunStatement =>
  (text) =>
    client.$queryRawUnsafe(text);

test("holds(), fenced() and registerRead() work in a transaction of Prisma, and are refused outside of one", async () => {
  const { uri, port } = await serverOfFile();
  const prisma = await openPrisma("mysql", { host: "127.0.0.1", port, user: "holdfast", database: "holdfast" });
  await expectHolds(
    {
      inTransaction: (step, lock) => prisma.$transaction((tx) => step(over(tx), over(tx), lock)),
      outside: (step, lock) => step(over(prisma), over(prisma), lock),
      end: () => prisma.$disconnect(),
    },
    uri,
  );
}, 600_000);
