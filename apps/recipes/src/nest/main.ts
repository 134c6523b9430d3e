import "reflect-metadata";
import { NestFactory } from "@nestjs/core";
import { AppModule } from "./app.module.ts";

const app = await NestFactory.create(AppModule);
app.enableShutdownHooks(); // or SIGTERM ends the process with its requests, and their locks stay until their ttl
await app.listen(Number(process.env.PORT), process.env.HOST ?? "0.0.0.0");
