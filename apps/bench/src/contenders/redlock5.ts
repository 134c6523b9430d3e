import Redlock from "redlock5";
import { connectWith } from "./redlock-class.ts";

export const connect = connectWith(Redlock);
