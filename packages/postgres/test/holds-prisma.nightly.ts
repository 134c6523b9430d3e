import type { RunStatement } from "@holdfast/postgres";
import { openPrisma, type PrismaRaw } from "@holdfast/testkit/prisma";
import { test } from "vitest";
import { expectHolds } from "./holds-in-library.ts";
import { serverOfFile } from "./servers.ts";

const over =
  (client: PrismaRaw): RunStatement =>
  (text, values) =>
    client.$queryRawUnsafe(text, ...values);

test("holds(), fenced() and registerRead() work in a transaction of Prisma, and are refused outside of one", async () => {
  const { connectionString } = await serverOfFile();
  const prisma = await openPrisma("postgresql", { connectionString });
  await expectHolds(
    {
      inTransaction: (call, lock) => prisma.$transaction((tx) => call(over(tx), lock)),
      outside: (call, lock) => call(over(prisma), lock),
      end: () => prisma.$disconnect(),
    },
    connectionString,
  );
}, 600_000);
