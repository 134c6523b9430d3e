import { type LockHeldError, Redlock } from "@holdfast/core";
import { currentLock, Locked } from "@holdfast/nest";
import { Injectable, SetMetadata } from "@nestjs/common";
import { expect, test } from "vitest";
import { errorOf, startApplication, World } from "./application.ts";

@Injectable()
class Accounts {
  readonly prefix = "account";

  @Locked("all", { waitTimeoutMs: 0 })
  async closeAll(): Promise<readonly string[]> {
    return currentLock().resources;
  }

  @Locked(function (this: Accounts, id: string) {
    return `${this.prefix}:${id}`;
  })
  async close(id: string, note = "none") {
    return { id, note, prefix: this.prefix, resources: currentLock().resources };
  }

  @Locked((from: string, to: string) => [from, to])
  async transfer(from: string, to: string, cents: number): Promise<number> {
    const outer = currentLock();
    await this.close("9");
    expect(currentLock()).toBe(outer);
    await Promise.all([this.close(from), this.close(to)]);
    return cents;
  }

  @Locked("all")
  async outer(): Promise<unknown> {
    return errorOf(this.inner());
  }

  @Locked("all")
  async inner(): Promise<void> {}

  @SetMetadata("above", 1)
  @Locked("all")
  @SetMetadata("below", 2)
  async scheduled(): Promise<void> {
    throw new Error("it has failed");
  }
}

async function accounts() {
  const world = new World();
  const application = await world.start([Accounts]);
  return { ...world, application, service: application.get(Accounts) };
}

test("@Locked runs the method with its arguments and its instance, under the lock that its arguments name", async () => {
  const { clock, service } = await accounts();
  expect(await clock.until(service.closeAll())).toEqual(["all"]);
  const result = await clock.until(service.close("7", "at noon"));
  expect(result).toEqual({ id: "7", note: "at noon", prefix: "account", resources: ["account:7"] });
});

test("@Locked gives each method its own lock, and releases all of them", async () => {
  const { clock, service, other } = await accounts();
  expect(await clock.until(service.transfer("from", "to", 100))).toBe(100);
  for (const name of ["from", "to", "account:9"])
    expect(await clock.until(other.inspect(name))).toMatchObject({ state: "free" });
  expect(() => currentLock()).toThrow("no @Locked method is running");
});

test("@Locked passes its options to using(), and rejects with its errors", async () => {
  const { clock, service, other } = await accounts();
  await clock.until(other.acquire("all", { ttlMs: 60_000 }));
  expect(await clock.until(errorOf(service.closeAll()))).toMatchObject({ code: "LOCK_HELD" });
});

test("@Locked refuses at once a method that would wait for a lock of its caller", async () => {
  const { clock, service } = await accounts();
  const error = (await clock.until(service.outer(), 0)) as LockHeldError;
  expect(error.message).toContain("it is called within the lock on all");
});

test("@Locked rejects with the error of the method, and leaves what other decorators said about it", async () => {
  const { clock, service } = await accounts();
  expect(await clock.until(errorOf(service.scheduled()))).toEqual(new Error("it has failed"));
  expect(Reflect.getMetadata("above", service.scheduled)).toBe(1);
  expect(Reflect.getMetadata("below", service.scheduled)).toBe(2);
  expect(service.scheduled.name).toBe("scheduled");
});

test("@Locked rejects if Nest has not created the instance", async () => {
  await expect(new Accounts().close("7")).rejects.toThrow("Nest has not created the instance of @Locked close");
});

test("@Locked states the types of the arguments", () => {
  class Typed {
    // @ts-expect-error: the method has other arguments
    @Locked((id: string) => id)
    async wrong(id: number): Promise<number> {
      return id;
    }

    // @ts-expect-error: a lock needs a promise of the end
    @Locked("all")
    synchronous(): void {}
  }
  expect(Typed).toBeDefined();
  expect(() => Locked("all")(Typed.prototype, "field", {})).toThrow("@Locked field must be a method");
});

test("@Locked works with a Redlock that a test provides", async () => {
  const { nodes, clock } = new World();
  const redlock = new Redlock(nodes, { clock });
  const providers = [Accounts, { provide: Redlock, useValue: redlock }];
  const application = await startApplication({ module: class TestModule {}, providers });
  expect(await clock.until(application.get(Accounts).closeAll())).toEqual(["all"]);
});
