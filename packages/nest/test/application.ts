import "reflect-metadata";
import { type LockNode, Redlock } from "@holdfast/core";
import { memoryNode } from "@holdfast/memory";
import { HoldfastModule, type HoldfastOptions } from "@holdfast/nest";
import { VirtualClock } from "@holdfast/testkit";
import type { INestApplicationContext, Provider } from "@nestjs/common";
import { NestFactory } from "@nestjs/core";
import { onTestFinished } from "vitest";

/** Processes that share three nodes and a virtual clock. */
export class World {
  readonly clock = new VirtualClock();
  readonly nodes: readonly LockNode[] = ["a", "b", "c"].map((name) => memoryNode({ name, clock: this.clock }));
  /** Another process. */
  readonly other = new Redlock(this.nodes, { clock: this.clock });

  /** Starts an application with these classes. */
  async start(
    providers: readonly Provider[],
    options: Partial<HoldfastOptions> = {},
  ): Promise<INestApplicationContext> {
    const { nodes, clock } = this;
    const imports = [HoldfastModule.forRoot({ nodes, clock, ...options })];
    const application = await startApplication({ module: TestModule, imports, providers: [...providers] });
    onTestFinished(async () => {
      await clock.until(application.close());
    });
    return application;
  }
}

class TestModule {}

/** Starts an application that logs nothing, and rejects with the error that keeps it from starting. */
export function startApplication(module: Parameters<typeof NestFactory.createApplicationContext>[0]) {
  return NestFactory.createApplicationContext(module, { logger: false, abortOnError: false });
}

/** Resolves with the error of a promise. */
export const errorOf = (promise: Promise<unknown>): Promise<unknown> => promise.catch((error: unknown) => error);
