/** A service that locks, a controller that uses it, and the answers to requests that get no lock. */
import { HoldfastError, Redlock } from "@holdfast/core";
import { ioredisFencedStore, StaleFenceError } from "@holdfast/ioredis";
import {
  type ArgumentsHost,
  Catch,
  Controller,
  HttpCode,
  Inject,
  Injectable,
  Module,
  type OnApplicationShutdown,
  Param,
  Post,
} from "@nestjs/common";
import { APP_FILTER, BaseExceptionFilter } from "@nestjs/core";
import { Redis } from "ioredis";
import { lockAnswer } from "../http.ts";
import { type Closed, closeInvoice } from "../invoices.ts";
import { LockModule } from "./lock.module.ts";
import { currentLock, Locked } from "./locked.ts";

@Injectable()
class InvoiceService implements OnApplicationShutdown {
  @Inject(Redlock) readonly redlock!: Redlock; // for @Locked
  readonly #data = new Redis(process.env.DATA_SERVER ?? "").on("error", console.error);
  readonly #store = ioredisFencedStore(this.#data);

  @Locked((id: string) => `invoice:${id}`, { waitTimeoutMs: 500 })
  close(id: string): Promise<Closed> {
    return closeInvoice(this.#store, id, currentLock());
  }

  onApplicationShutdown(): void {
    this.#data.disconnect();
  }
}

@Controller("invoices")
class InvoiceController {
  @Inject(InvoiceService) private readonly invoices!: InvoiceService;

  @Post(":id/close")
  @HttpCode(200)
  close(@Param("id") id: string): Promise<Closed> {
    return this.invoices.close(id);
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
  imports: [LockModule],
  controllers: [InvoiceController],
  providers: [InvoiceService, { provide: APP_FILTER, useClass: LockErrorFilter }],
})
export class AppModule {}
