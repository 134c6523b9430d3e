import { testServer } from "./invoice-server.ts";

testServer("nest");
