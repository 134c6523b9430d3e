import { testServer } from "./invoice-server.ts";

testServer("express");
