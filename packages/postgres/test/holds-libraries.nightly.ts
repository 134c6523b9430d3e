import { test } from "vitest";
import { expectHolds } from "./holds-in-library.ts";
import { libraries } from "./libraries.ts";
import { serverOfFile } from "./servers.ts";

const { connectionString } = await serverOfFile();

test.each(Object.entries(libraries))(
  "holds(), fenced() and registerRead() work in a transaction of %s, and are refused outside of one",
  async (_, open) => expectHolds(await open(connectionString), connectionString),
);
