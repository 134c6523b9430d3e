/** Services that lock and lead, a controller that uses them, and the answers to requests that get no lock. */
import { setTimeout as sleep } from "node:timers/promises";
import { HoldfastError } from "@holdfast/core";
import type { Term } from "@holdfast/core/election";
import { ioredisFencedStore, ioredisNode, StaleFenceError } from "@holdfast/ioredis";
import {
  currentLock,
  HoldfastHealthIndicator,
  HoldfastModule,
  type HoldfastOptions,
  Leader,
  Locked,
} from "@holdfast/nest";
import {
  type ArgumentsHost,
  Catch,
  Controller,
  Get,
  HttpCode,
  Inject,
  Injectable,
  Module,
  type OnApplicationShutdown,
  Param,
  Post,
} from "@nestjs/common";
import { APP_FILTER, BaseExceptionFilter } from "@nestjs/core";
import { HealthCheck, HealthCheckService, TerminusModule } from "@nestjs/terminus";
import { Redis } from "ioredis";
import { lockAnswer } from "../http.ts";
import { type Closed, closeInvoice } from "../invoices.ts";

/** Connects to three or five independent servers. */
function lockServers(): HoldfastOptions {
  const urls = (process.env.LOCK_SERVERS ?? "").split(",");
  const clients = urls.map((url) => new Redis(url, { connectTimeout: 1_000 }).on("error", () => {})); // it reconnects
  return {
    nodes: clients.map((client) => ioredisNode(client)),
    close: () => clients.map((client) => client.disconnect()),
  };
}

@Injectable()
class InvoiceService implements OnApplicationShutdown {
  readonly #data = new Redis(process.env.DATA_SERVER ?? "").on("error", console.error);
  readonly #store = ioredisFencedStore(this.#data);

  @Locked((id: string) => `invoice:${id}`, { waitTimeoutMs: 500 })
  close(id: string): Promise<Closed> {
    return closeInvoice(this.#store, id, currentLock());
  }

  /** Counts the seconds, in one process of all. */
  @Leader("seconds")
  async count(term: Term): Promise<void> {
    console.log(`leads in term ${term.fence}`);
    while (!term.signal.aborted) {
      const { value } = await this.#store.read("seconds", term.fence); // refuses writes of earlier terms from now on
      await this.#store.write("seconds", String(Number(value ?? 0) + 1), term.fence);
      await sleep(1_000, undefined, { signal: term.signal }).catch(() => {}); // the term has ended
    }
  }

  onApplicationShutdown(): void {
    this.#data.disconnect();
  }
}

@Controller()
class InvoiceController {
  @Inject(InvoiceService) private readonly invoices!: InvoiceService;
  @Inject(HealthCheckService) private readonly health!: HealthCheckService;
  @Inject(HoldfastHealthIndicator) private readonly locks!: HoldfastHealthIndicator;

  @Post("invoices/:id/close")
  @HttpCode(200)
  close(@Param("id") id: string): Promise<Closed> {
    return this.invoices.close(id);
  }

  @Get("health")
  @HealthCheck()
  check() {
    return this.health.check([() => this.locks.isHealthy()]);
  }
}

@Catch(HoldfastError, StaleFenceError)
class LockErrorFilter extends BaseExceptionFilter {
  override catch(error: unknown, host: ArgumentsHost): void {
    const answer = lockAnswer(error);
    if (answer === undefined) super.catch(error, host);
    else host.switchToHttp().getResponse().status(answer.status).set(answer.headers).json(answer.body);
  }
}

@Module({
  imports: [HoldfastModule.forRootAsync({ useFactory: lockServers }), TerminusModule],
  controllers: [InvoiceController],
  providers: [InvoiceService, { provide: APP_FILTER, useClass: LockErrorFilter }],
})
export class AppModule {}
