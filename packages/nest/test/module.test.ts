import { Redlock } from "@holdfast/core";
import { memoryNode } from "@holdfast/memory";
import { HoldfastHealthIndicator, HoldfastModule } from "@holdfast/nest";
import { Inject, Injectable, Module } from "@nestjs/common";
import { describe, expect, it } from "vitest";
import { errorOf, startApplication, World } from "./application.ts";

@Injectable()
class Service {
  @Inject(Redlock) readonly redlock!: Redlock;
}

@Injectable()
class Settings {
  readonly ttlMs = 4_321;
}

@Module({ providers: [Settings], exports: [Settings] })
class SettingsModule {}

@Module({ providers: [Service], exports: [Service] })
class FeatureModule {}

describe("HoldfastModule", () => {
  it("forRoot() provides the Redlock to all modules, closes it on shutdown, and then the clients", async () => {
    const { nodes, clock } = new World();
    const ended: string[] = [];
    const imports = [
      HoldfastModule.forRoot({ nodes, clock, close: () => ended.push(redlock.closed.aborted ? "closed" : "open") }),
      FeatureModule,
    ];
    const application = await startApplication({ module: class {}, imports });
    const { redlock } = application.get(Service, { strict: false });
    expect(application.get(Redlock)).toBe(redlock);
    await clock.until(redlock.using("a", () => {}));
    await clock.until(application.close());
    expect(ended).toEqual(["closed"]);
    expect(clock.pendingTimers).toBe(0);
  });

  it("forRootAsync() gets its options from a factory, with what it injects", async () => {
    const { nodes, clock } = new World();
    const useFactory = async ({ ttlMs }: Settings) => ({ nodes, clock, ttlMs });
    const imports = [HoldfastModule.forRootAsync({ imports: [SettingsModule], inject: [Settings], useFactory })];
    const application = await startApplication({ module: class {}, imports });
    const lock = await clock.until(application.get(Redlock).acquire("a"));
    expect(lock.remainingMs()).toBeCloseTo(4_321 * 0.99 - 2, -1);
    await clock.until(lock.release());
    await clock.until(application.close());
  });

  it.each([
    [{ nodes: [memoryNode()], tltMs: 5 }, "tltMs is not an option of a Redlock"],
    [{ nodes: [memoryNode()], close: "now" }, "close must be a function, not a string"],
    [{ ttlMs: 5_000 }, "nodes"],
  ])("forRoot(%j) fails the start of the application", async (options, message) => {
    const imports = [HoldfastModule.forRoot(options as never)];
    expect(String(await errorOf(startApplication({ module: class {}, imports })))).toContain(message);
  });

  it("forRoot() in two modules fails the start of the application, which would have two sets of locks", async () => {
    const forRoot = () => HoldfastModule.forRoot({ nodes: [memoryNode()] });
    const start = startApplication({ module: class {}, imports: [forRoot(), forRoot()] });
    expect(String(await errorOf(start))).toContain("HoldfastModule must be imported once");
  });

  it("forRootAsync() refuses unknown options", () => {
    const factory = { useFactory: () => ({ nodes: [] }), useClass: Settings };
    expect(() => HoldfastModule.forRootAsync(factory)).toThrow("useClass is not an option of forRootAsync");
    expect(() => HoldfastModule.forRootAsync({} as never)).toThrow("useFactory must be a function, not undefined");
  });
});

describe("HoldfastHealthIndicator", () => {
  it("isHealthy() is up while a quorum replies, down otherwise, and down once the Redlock is closed", async () => {
    const { clock, nodes } = new World();
    const broken = (name: string) => ({
      ...memoryNode({ name, clock }),
      name,
      inspect: () => Promise.reject(new Error("down")),
    });
    const indicatorOf = (list: typeof nodes) => new HoldfastHealthIndicator(new Redlock(list, { clock }));
    expect(await clock.until(indicatorOf(nodes).isHealthy())).toMatchObject({
      locks: { status: "up", reachable: 3, quorum: 2 },
    });
    const down = indicatorOf([...nodes.slice(0, 1), broken("x"), broken("y")]);
    expect(await clock.until(down.isHealthy("redis"))).toMatchObject({ redis: { status: "down", reachable: 1 } });
    const closed = new Redlock(nodes, { clock });
    await clock.until(closed.close());
    const { locks } = await clock.until(new HoldfastHealthIndicator(closed).isHealthy());
    expect(locks).toMatchObject({ status: "down", message: expect.stringContaining("the Redlock is closed") });
  });

  it("isHealthy() belongs to the application", async () => {
    const world = new World();
    const application = await world.start([]);
    const result = application.get(HoldfastHealthIndicator).isHealthy();
    expect(await world.clock.until(result)).toMatchObject({ locks: { status: "up" } });
  });
});
