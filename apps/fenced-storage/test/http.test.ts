import { expect, onTestFinished, test } from "vitest";
import { readText, writeText } from "../src/http/accounts.ts";
import { type FencedService, startFencedService } from "../src/http/fenced-service.ts";
import { testLateWrites } from "./late-writes.ts";

testLateWrites("http");

async function start(tokens: "required" | "optional" = "required"): Promise<FencedService> {
  const service = await startFencedService(tokens);
  onTestFinished(service.close);
  return service;
}

/** Sends a plain request. */
async function ask(url: string, init: RequestInit): Promise<{ status: number; type: string | null; body: unknown }> {
  const response = await fetch(url, init);
  const text = await response.text();
  return {
    status: response.status,
    type: response.headers.get("content-type"),
    body: text.startsWith("{") ? JSON.parse(text) : text,
  };
}

test("a GET makes its path refuse older tokens, with 409 and both tokens", async () => {
  const { url } = await start();
  const path = `${url}/invoices/42`;
  expect(await ask(path, { method: "PUT", body: "100 €", headers: { fence: "41" } })).toMatchObject({ status: 204 });
  const read = await ask(path, { headers: { fence: "42" } });
  expect(read).toEqual({ status: 200, type: "text/plain; charset=utf-8", body: "100 €" });
  expect(await ask(path, { method: "PUT", body: "late", headers: { fence: "41" } })).toEqual({
    status: 409,
    type: "application/problem+json",
    body: {
      type: "about:blank",
      title: "Conflict",
      status: 409,
      detail: "/invoices/42 was shown fence 42 already, and 41 is older: the lock has passed on",
      fence: 41,
      newestFence: 42,
    },
  });
  expect(await readText(path, 42)).toBe("100 €");
});

test("a GET of a missing text registers its token, too", async () => {
  const { url } = await start();
  expect(await ask(`${url}/new`, { headers: { fence: "42" } })).toMatchObject({ status: 404 });
  await expect(writeText(`${url}/new`, "late", 41)).rejects.toMatchObject({
    name: "StaleFenceError",
    key: `${url}/new`,
    fence: 41,
    newestFence: 42,
  });
  await expect(readText(`${url}/new`, 42)).rejects.toThrow("404, there is nothing at /new");
});

test("a request without a token gets 428, or succeeds if tokens are optional", async () => {
  const [{ url }, lenient] = [await start(), await start("optional")];
  const put = { method: "PUT", body: "100" };
  expect(await ask(`${url}/a`, put)).toMatchObject({
    status: 428,
    body: { title: "Precondition Required", detail: "show the token of your lock in the header Fence" },
  });
  await writeText(`${lenient.url}/a`, "1", 42);
  expect(await ask(`${lenient.url}/a`, put)).toMatchObject({ status: 204 });
  await expect(writeText(`${lenient.url}/a`, "2", 41)).rejects.toMatchObject({ newestFence: 42 });
});

test.each(["", "0", "-1", "1.5", "many", "9007199254740992", "1, 2"])(
  "an invalid header gets 400: %j",
  async (fence) => {
    const { url } = await start();
    expect(await ask(url, { headers: { fence } })).toMatchObject({ status: 400 });
  },
);

test("another method gets 405, and too much content 413", async () => {
  const { url } = await start();
  const headers = { fence: "42" };
  expect(await ask(url, { method: "DELETE", headers })).toMatchObject({ status: 405 });
  const body = "x".repeat(1_048_577);
  expect(await ask(url, { method: "PUT", body, headers })).toMatchObject({ status: 413 });
});
