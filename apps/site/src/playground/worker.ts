/** The Web Worker of the playground: receives what to play, and sends the run. */
import { type PlayRequest, play } from "./play.ts";

self.onmessage = ({ data }: MessageEvent<PlayRequest>) => void play(data).then((reply) => self.postMessage(reply));
