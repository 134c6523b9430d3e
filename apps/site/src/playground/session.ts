/** The state of the playground: which run is shown, and at which moment. */
import { computed, onBeforeUnmount, onMounted, ref, shallowRef, watch } from "vue";
import { type Address, readAddress, type Subject, wholeMicroseconds, writeAddress } from "./address.ts";
import { type Caption, captionText } from "./captions.ts";
import { describeMoment } from "./cards.ts";
import type { PlayFault } from "./free-play.ts";
import { momentAt, steps as stepsOf } from "./moment.ts";
import type { PlayedRun } from "./play.ts";
import { type PaceName, startPlaying } from "./player.ts";
import { introOf, sentenceAt } from "./reading.ts";
import { type Simulation, startSimulation } from "./simulator.ts";
import { storyTexts } from "./story-texts.ts";
import { lastIndexUpTo, timeScale } from "./time-scale.ts";

/** How often the address of the page may change while time runs: browsers limit it. */
const addressEveryMs = 500;

const firstAddress: Address = { subject: { kind: "story", id: storyTexts[0]?.id ?? "" }, faults: [], atMs: undefined };

/** What the views show, and what the reader may do. Views change nothing but the pace. */
export type Session = ReturnType<typeof useSession>;

/**
 * Creates the state of a mounted page. On a server it stays at the start of the first story, without a run.
 *
 * @param story the story to show on a page whose address says nothing about a run
 */
// biome-ignore lint/complexity/noExcessiveLinesPerFunction: a composable is a list of functions that share its state
export function useSession(story?: string) {
  /** The run that is asked for. */
  const address = shallowRef<Address>(firstAddress);
  /** Why the address of the page names no run, or why the run failed. */
  const error = ref<string>();
  /** The recorded run; undefined until it has been simulated. */
  const run = shallowRef<PlayedRun>();
  /** Whether `run` is not yet the run that is asked for. */
  const isBusy = ref(true);
  /** The cursor, in milliseconds. */
  const atMs = ref(0);
  /** How fast time runs. */
  const pace = ref<PaceName>("as you read");
  /** What screen readers say: each sentence while the run plays, and the picture after the reader has moved the cursor. */
  const said = ref("");
  /** The moments at which something happens. */
  const steps = computed(() => (run.value === undefined ? [0] : stepsOf(run.value.trace)));
  /** The line of time. */
  const scale = computed(() => timeScale(steps.value));
  /** The picture at the cursor. */
  const moment = computed(() => run.value && momentAt(run.value.trace, atMs.value));
  const captions = computed<readonly Caption[]>(() => [
    { fromMs: 0, text: introOf(address.value.subject) },
    ...(run.value?.captions ?? []),
  ]);
  const captionNow = computed(() => captions.value.findLast(({ fromMs }) => fromMs <= atMs.value));
  /** The sentence at the cursor: what happens, and why it matters. */
  const caption = computed(() => (captionNow.value === undefined ? "" : captionText(captionNow.value, atMs.value)));
  const stopPlaying = shallowRef<() => void>();
  /** Whether time runs. */
  const isPlaying = computed(() => stopPlaying.value !== undefined);
  const bar = addressBar(hashNow, load);
  let simulation: Simulation | undefined;
  let unreadable: string | undefined;

  /** Simulates the run of an address, instead of one that is not shown yet. */
  async function simulate(wanted: Address): Promise<void> {
    [address.value, isBusy.value, error.value, unreadable] = [wanted, true, undefined, undefined];
    simulation?.end();
    simulation = startSimulation(wanted);
    try {
      const seen = await simulation.run;
      stop();
      [run.value, isBusy.value] = [seen, false];
      atMs.value = Math.min(wanted.atMs ?? 0, seen.trace.endedAtMs);
    } catch (cause) {
      fail(`The run failed: ${cause instanceof Error ? cause.message : cause}.`);
    }
  }

  function fail(message: string): void {
    stop();
    [run.value, isBusy.value, error.value] = [undefined, false, message];
  }

  /** Shows what the address of the page names. */
  function load(hash: string): void {
    stop();
    said.value = "";
    const parsed = readAddress(hash);
    if ("error" in parsed) {
      simulation?.end();
      unreadable = hash;
      fail(parsed.error);
    } else void simulate(parsed);
  }

  /** Returns what the address of the page should have after `#`: as it is, if it cannot be read. */
  function hashNow(): string {
    return unreadable ?? writeAddress({ ...address.value, atMs: atMs.value || undefined });
  }

  function stop(): void {
    stopPlaying.value?.();
    stopPlaying.value = undefined;
  }

  function move(to: number): void {
    atMs.value = Math.min(Math.max(0, to), steps.value.at(-1) ?? 0);
    bar.update();
  }

  function say(): void {
    said.value = moment.value === undefined ? "" : describeMoment(moment.value);
  }

  /** Moves the cursor to a moment. */
  function seek(to: number): void {
    stop();
    move(to);
    say();
  }

  /** Moves the cursor to the next moments at which something happens, or the ones before. */
  function step(by: number): void {
    const list = steps.value;
    const index = lastIndexUpTo(list, atMs.value);
    const isBetween = atMs.value > (list[index] ?? 0);
    seek(list[Math.min(Math.max(0, index + by + (by < 0 && isBetween ? 1 : 0)), list.length - 1)] ?? 0);
  }

  /** Shows another run from its start. */
  function open(subject: Subject): void {
    stop();
    [atMs.value, said.value] = [0, ""];
    void simulate({ subject, faults: [], atMs: undefined });
    bar.push();
  }

  /** Changes the faults that the reader has added. Resolves when the new run is shown. */
  async function change(faults: readonly PlayFault[]): Promise<void> {
    stop();
    // The address keeps whole microseconds: the cursor moves to where the fault strikes.
    atMs.value = wholeMicroseconds(atMs.value);
    const simulated = simulate({ ...address.value, faults, atMs: atMs.value });
    bar.push();
    await simulated;
    say();
  }

  /** Lets time run, or stops it. */
  function toggle(): void {
    if (isPlaying.value || run.value === undefined) {
      stop();
      say();
      return;
    }
    const end = run.value.trace.endedAtMs;
    if (atMs.value >= end) move(0);
    stopPlaying.value = startPlaying({
      pace: () => pace.value,
      scale: () => scale.value,
      atMs: () => atMs.value,
      sentenceAt: (ms) => sentenceAt(captions.value, end, ms),
      move: (to) => {
        move(to);
        if (to >= end) stop();
      },
    });
  }

  watch(captionNow, () => {
    if (isPlaying.value) said.value = caption.value;
  });
  onMounted(() => {
    if (story === undefined) bar.listen();
    load(story === undefined ? location.hash : `#story=${story}`);
  });
  onBeforeUnmount(() => {
    stop();
    bar.close();
    simulation?.end();
  });
  return {
    ...{ address, error, run, isBusy, steps, scale, atMs, moment, caption, isPlaying, pace, said },
    ...{ open, change, seek, step, toggle },
  };
}

/**
 * The address of the page. Once it listens, it follows the state, and the state follows it when the reader goes back, or
 * enters another.
 */
function addressBar(hashNow: () => string, load: (hash: string) => void) {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let path: string | undefined;
  const stopTimer = (): void => {
    clearTimeout(timer);
    timer = undefined;
  };
  // While the reader leaves, this page is still shown, and the address is already that of the next one.
  const isHere = (): boolean => location.pathname === path;
  const follow = (): void => {
    if (!isHere() || location.hash === hashNow()) return;
    stopTimer();
    load(location.hash);
  };
  /** Writes the state now. */
  const write = (): void => {
    stopTimer();
    // The router of the site keeps its own notes in the state.
    if (isHere() && location.hash !== hashNow()) history.replaceState(history.state, "", hashNow());
  };
  return {
    /** Starts to follow. */
    listen(): void {
      path = location.pathname;
      window.addEventListener("popstate", follow);
      window.addEventListener("hashchange", follow);
    },
    /** Writes the state soon. */
    update(): void {
      timer ??= setTimeout(write, addressEveryMs);
    },
    /** Writes it as a new entry of the browser's history. */
    push(): void {
      stopTimer();
      const state = { scrollPosition: window.scrollY };
      history.replaceState(state, "");
      history.pushState(state, "", hashNow());
    },
    /** Stops to follow. */
    close(): void {
      stopTimer();
      window.removeEventListener("popstate", follow);
      window.removeEventListener("hashchange", follow);
    },
  };
}
