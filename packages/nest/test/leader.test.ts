import type { Term } from "@holdfast/core/election";
import { Leader } from "@holdfast/nest";
import { Injectable, Logger, Scope } from "@nestjs/common";
import { beforeEach, expect, test, vi } from "vitest";
import { errorOf, World } from "./application.ts";

/** What the leaders of a test did, in order. */
let story: string[] = [];
/** What a leader does in its term. */
let work: (term: Term) => Promise<void>;

const untilTheEnd = (term: Term) =>
  new Promise<void>((resolve) => term.signal.addEventListener("abort", () => resolve()));

class Worker {
  readonly name: string = "";

  @Leader("jobs", { ttlMs: 5_000 })
  async lead(term: Term): Promise<void> {
    story.push(`${this.name} leads`);
    await work(term);
    story.push(`${this.name} has ended`);
  }
}

@Injectable()
class First extends Worker {
  override readonly name = "first";
}

@Injectable()
class Second extends Worker {
  override readonly name = "second";
}

beforeEach(() => {
  story = [];
  work = untilTheEnd;
});

test("@Leader runs the method in one process at a time, and elects the next one when that is shut down", async () => {
  const world = new World();
  const { clock } = world;
  const first = await world.start([First]);
  await clock.advance(100);
  await world.start([Second]);
  await clock.advance(20_000);
  expect(story).toEqual(["first leads"]);
  await clock.until(first.close());
  await clock.advance(1_000);
  expect(story).toEqual(["first leads", "first has ended", "second leads"]);
});

test("@Leader resigns when the method returns, so that other processes lead next, and logs an error that it throws", async () => {
  const logged = vi.spyOn(Logger.prototype, "error").mockImplementation(() => {});
  const world = new World();
  const error = new Error("it has failed");
  work = () => Promise.reject(error);
  await world.start([First]);
  await world.start([Second]);
  await world.clock.advance(3_000);
  expect(story.slice(0, 3)).toEqual(["first leads", "second leads", "first leads"]);
  expect(logged).toHaveBeenCalledWith("@Leader First.lead has failed", error);
});

test("@Leader lets a shutdown wait for a method that does not end, until its lock has ended", async () => {
  const world = new World();
  work = () => new Promise(() => {});
  const application = await world.start([First]);
  await world.clock.advance(1_000);
  const closed = application.close();
  await world.clock.until(closed, 5_000);
  expect(await world.clock.until(world.other.inspect("jobs"))).toMatchObject({ state: "free" });
});

test("@Leader fails the start of the application for bad options, or a class that is not created once", async () => {
  class BadOptions {
    @Leader("jobs", { ttl: 5 } as never)
    async lead(): Promise<void> {}
  }
  @Injectable({ scope: Scope.REQUEST })
  class PerRequest extends Worker {}
  @Injectable({ scope: Scope.TRANSIENT })
  class Transient extends Worker {}
  const world = new World();
  const start = (provider: typeof Worker | typeof BadOptions) => errorOf(world.start([First, provider]));
  expect(String(await start(BadOptions))).toContain("ttl is not an option of an election");
  expect(String(await start(PerRequest))).toContain(
    "@Leader PerRequest.lead must be in a class with the default scope",
  );
  expect(String(await start(Transient))).toContain("@Leader Transient.lead must be in a class with the default scope");
  await world.clock.advance(100);
  expect(story).toEqual([]); // First does not lead an application that has not started
  expect(() => Leader("jobs")(BadOptions.prototype, "field", {})).toThrow("@Leader field must be a method");
});

test("@Leader stands for election once if another provider is an alias of its class", async () => {
  const world = new World();
  work = () => Promise.resolve();
  await world.start([First, { provide: "alias", useExisting: First }]);
  await world.clock.advance(500);
  expect(story).toEqual(["first leads", "first has ended"]);
});

test("@Leader logs why it stands for no more elections", async () => {
  const logged = vi.spyOn(Logger.prototype, "error").mockImplementation(() => {});
  const world = new World();
  await world.start([First], { ttlMs: 10_000, nodeTimeoutMs: 6_000 });
  await world.clock.advance(100);
  expect(logged).toHaveBeenCalledWith("@Leader First.lead stands for no more elections", expect.any(RangeError));
});
