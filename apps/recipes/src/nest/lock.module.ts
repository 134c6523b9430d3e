/** Provides one `Redlock` to all modules, tells whether it works, and closes it. */
import { Redlock } from "@holdfast/core";
import { Controller, Get, Global, Inject, Injectable, Module, type OnApplicationShutdown } from "@nestjs/common";
import { HealthCheck, HealthCheckService, HealthIndicatorService, TerminusModule } from "@nestjs/terminus";
import { type Locks, openLocks } from "../locks.ts";

@Injectable()
class LockServers implements OnApplicationShutdown {
  readonly locks: Locks = openLocks((process.env.LOCK_SERVERS ?? "").split(","));

  /** Nest calls this after the requests in progress have ended, and their locks. */
  onApplicationShutdown(): Promise<void> {
    return this.locks.close();
  }
}

@Controller("health")
class HealthController {
  @Inject(HealthCheckService) private readonly health!: HealthCheckService;
  @Inject(HealthIndicatorService) private readonly indicators!: HealthIndicatorService;
  @Inject(Redlock) private readonly redlock!: Redlock;

  @Get()
  @HealthCheck()
  check() {
    return this.health.check([
      async () => {
        const { ok, ...details } = await this.redlock.health();
        const indicator = this.indicators.check("locks");
        return ok ? indicator.up(details) : indicator.down(details);
      },
    ]);
  }
}

@Global()
@Module({
  imports: [TerminusModule],
  controllers: [HealthController],
  providers: [
    LockServers,
    { provide: Redlock, inject: [LockServers], useFactory: ({ locks }: LockServers) => locks.redlock },
  ],
  exports: [Redlock],
})
export class LockModule {}
