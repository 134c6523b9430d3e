import { Redlock } from "@sesamecare-oss/redlock";
import { connectWith } from "./redlock-class.ts";

export const connect = connectWith(Redlock);
